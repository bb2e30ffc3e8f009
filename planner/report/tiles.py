"""The key figures beside the answer."""

from collections.abc import Iterator

from planner.report.blocks import Tile
from planner.report.cells import format_accuracy, format_auc, format_money, format_percent, format_rate
from planner.report.facts import Facts, PolicyFacts
from profiles.units import format_ms

__all__ = ["tiles_of"]


def tiles_of(facts: Facts, best: PolicyFacts) -> tuple[Tile, ...]:
    """Latency, quality, capacity and cost, as far as they are known."""
    return (_tail(facts, best), _accuracy(best), *_auc(best), *_capacity(best), *_cost(facts, best))


def _tail(facts: Facts, best: PolicyFacts) -> Tile:
    return Tile(
        label=f"p{facts.tail:g} latency",
        value="overloaded" if best.overloaded else best.tail_text,
        note=f"SLA {format_ms(facts.sla_ms)}",
        provenance=best.provenance,
    )


def _accuracy(best: PolicyFacts) -> Tile:
    mixed = "" if len(best.paths) < 2 else ", mixed by simulated shares"
    return Tile(
        label="Accuracy",
        value=format_accuracy(best.accuracy),
        note=f"on held-out data{mixed}",
        provenance="measured",
    )


def _auc(best: PolicyFacts) -> Iterator[Tile]:
    """That of the path that takes most: ranks over a mix of models are not those of any of them."""
    if best.paths and (auc := best.paths[0].auc) is not None:
        most = best.paths[0]
        note = "on held-out data" if len(best.paths) == 1 else f"{most.title}, {format_percent(most.share)} of queries"
        yield Tile(label="AUC", value=format_auc(auc), note=note, provenance="measured")


def _capacity(best: PolicyFacts) -> Iterator[Tile]:
    if best.max_qps is not None:
        known = best.ci_low is not None and best.ci_high is not None
        yield Tile(
            label="Capacity, queries/s",
            value=format_rate(best.max_qps),
            note=f"{format_rate(best.ci_low or 0)} to {format_rate(best.ci_high or 0)}" if known else "",
            provenance=best.capacity_provenance,
        )


def _cost(facts: Facts, best: PolicyFacts) -> Iterator[Tile]:
    cost = facts.cost_per_million(best)
    if cost is not None and best.holds:
        yield Tile(
            label="Cost",
            value=format_money(cost),
            note="per million predictions, in the study's currency",
            provenance=best.provenance,
        )
