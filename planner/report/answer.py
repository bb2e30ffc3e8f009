"""The answer in plain sentences, composed from the facts and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.report.blocks import Tile
from planner.report.cells import (
    format_accuracy,
    format_auc,
    format_money,
    format_percent,
    format_points,
    format_rate,
    join_names,
)
from planner.report.changes import changes_of
from planner.report.facts import Facts, PathFacts, PolicyFacts, best_policy
from planner.report.tiles import tiles_of
from profiles.units import format_ms

__all__ = ["Answer", "compose_answer"]

# Half of the last digit that is shown.
_SAME_ACCURACY = 0.00005
# Whole models predicted further off than this on average, one way, are worth a warning.
_MOST_BIAS = 0.15
_MOST_BIAS_IN_NOISE = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """The headline, what backs it, what would change it, and the key figures."""

    headline: str
    sentences: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    tiles: tuple[Tile, ...] = ()


def compose_answer(
    facts: Facts | None, constant_accuracy: float | None = None, validation: Mapping[str, Any] | None = None
) -> Answer:
    """The answer to "what serves this workload within the SLA?"; says so where nothing was simulated.

    An accuracy that does not beat `constant_accuracy`, that of one constant answer, is said to be none. Where
    `validation`, the summary of the cost model's, shows whole models predicted off to one side, a warning says so.
    """
    best = best_policy(facts.policies) if facts else None
    if facts is None or best is None:
        return Answer(headline="Nothing was served yet, so this report does not say what to serve.")
    return Answer(
        headline=_headline(facts, best),
        sentences=tuple(
            filter(
                None,
                (
                    _figures(facts, best),
                    _constant(best, constant_accuracy),
                    _bias(validation or {}),
                    _cost(facts, best),
                    _against(facts, best),
                    _trade(facts, best),
                ),
            )
        ),
        changes=changes_of(facts, best),
        tiles=tiles_of(facts, best),
    )


def _headline(facts: Facts, best: PolicyFacts) -> str:
    load = f"{format_rate(facts.qps)} queries/s within {format_ms(facts.sla_ms)} at p{facts.percentile:g}"
    if not best.holds:
        late = f"too late for {format_percent(best.violation_share)} of the queries"
        fault = best.tail_text if best.overloaded else late
        return f"Nothing tried serves {load}: the nearest, {best.title}, is {fault}."
    estimate = "by estimate, " if best.provenance == "estimated" else ""
    if best.static:
        return f"Serve {best.title}: {estimate}this one path holds {load}."
    return (
        f"Route with {best.title} over {join_names([path.title for path in best.paths])}: {estimate}that holds {load}."
    )


def _constant(best: PolicyFacts, constant_accuracy: float | None) -> str:
    if constant_accuracy is None or best.accuracy > constant_accuracy:
        return ""
    return (
        "Accuracy says little here: one constant answer would be right for "
        f"{format_accuracy(constant_accuracy)} of the held-out rows. The AUC tells how well models rank."
    )


def _figures(facts: Facts, best: PolicyFacts) -> str:
    text = f"{_basis(best)}, {_latency(facts, best)} and {format_accuracy(best.accuracy)} of the predictions are right"
    if best.static:
        text += _auc(best.paths[0]) if best.paths else ""
    elif best.paths:
        first, *rest = [(format_percent(path.share), f"{path.title}{_auc(path)}") for path in best.paths]
        routes = (f"{first[0]} of the queries go to {first[1]}", *(f"{share} to {title}" for share, title in rest))
        text += f": {join_names(routes)}"
    if best.max_qps is None or best.overloaded:
        return f"{text}."
    return f"{text}; its capacity is {_capacity(facts, best)}, {best.max_qps / facts.qps:.3g} times the load asked for."


def _latency(facts: Facts, best: PolicyFacts) -> str:
    if best.overloaded:
        return f"{best.title} is {best.tail_text}"
    verb = "is" if best.holds else "would be"
    return f"the p{facts.tail:g} latency {verb} {best.tail_text}"


def _auc(path: PathFacts) -> str:
    return "" if path.auc is None else f" (AUC {format_auc(path.auc)})"


def _basis(policy: PolicyFacts) -> str:
    if devices := policy.estimated_devices:
        return f"With nothing timed on {join_names(devices)}"
    return "Simulated on latencies that were measured or predicted from measurements"


def _capacity(facts: Facts, policy: PolicyFacts) -> str:
    text = f"{format_rate(policy.max_qps or 0)} queries/s"
    if policy.ci_low is None or policy.ci_high is None:
        return text
    interval = f"{format_rate(policy.ci_low)} to {format_rate(policy.ci_high)}"
    return f"{text} ({100 * facts.confidence:g} % interval {interval})"


def _cost(facts: Facts, best: PolicyFacts) -> str:
    if not best.holds:
        return ""
    cost = facts.cost_per_million(best)
    if cost is not None:
        return (
            f"A million predictions cost {format_money(cost)} at this load, in the currency of the study's prices "
            f"({join_names(best.devices)} {'is' if len(best.devices) == 1 else 'are'} paid by the hour, busy or idle)."
        )
    missing = [device for device in best.devices if device in facts.unpriced]
    return f"What a million predictions cost is not known: the study gives no price for {join_names(missing)}."


def _bias(validation: Mapping[str, Any]) -> str:
    bias = (validation.get("composed") or {}).get("bias")
    noise = (validation.get("noise_floor") or {}).get("median")
    if bias is None:
        return ""
    allowed = _MOST_BIAS if noise is None else min(_MOST_BIAS, _MOST_BIAS_IN_NOISE * noise)
    if abs(bias) <= allowed:
        return ""
    way = "fast" if bias < 0 else "slow"
    return f"Whole models were predicted {abs(100 * bias):.0f} % too {way} here; read latencies with that in mind."


def _rival(facts: Facts, best: PolicyFacts) -> PolicyFacts | None:
    """The best of the other kind that is not the same thing under another name."""
    others = (policy for policy in facts.policies if policy.static != best.static)
    return best_policy(tuple(policy for policy in others if not _is_same(policy, best)))


def _is_same(policy: PolicyFacts, other: PolicyFacts) -> bool:
    return policy.label == other.label or (policy.sole_path is not None and policy.sole_path == other.sole_path)


def _trade(facts: Facts, best: PolicyFacts) -> str:
    """Where accuracy and much capacity stand against each other and the comparison above does not say so."""
    if not best.holds:
        return ""
    others = [policy for policy in facts.policies if policy.holds and not _is_same(policy, best)]
    dearer = [other for other in others if _gives_up(best, other)]
    cheaper = [other for other in others if _gives_up(other, best)]
    runner_up = best_policy(tuple(dearer or cheaper))
    if runner_up is None or runner_up == _rival(facts, best):
        return ""
    strong, right = (best, runner_up) if dearer else (runner_up, best)
    lost = f"{100 * (right.accuracy - strong.accuracy):.2f} points of accuracy"
    return (
        f"{strong.title} gives up {lost} for {(strong.max_qps or 0) / (right.max_qps or 1):.2g} times the capacity "
        f"of {right.title} ({format_rate(right.max_qps or 0)} queries/s)."
    )


def _gives_up(strong: PolicyFacts, right: PolicyFacts) -> bool:
    return (
        bool(right.max_qps)
        and strong.has_much_more_capacity(right)
        and right.accuracy > strong.accuracy + _SAME_ACCURACY
    )


def _against(facts: Facts, best: PolicyFacts) -> str:
    rival = _rival(facts, best)
    if rival is None:
        return ""
    kind = "single path" if rival.static else "routing policy"
    about = " (by estimate)" if "estimated" in {best.provenance, rival.provenance} else ""
    gain = best.accuracy - rival.accuracy
    accuracy = "the same accuracy" if abs(gain) < _SAME_ACCURACY else f"accuracy {format_points(gain)}"
    text = f"Against the best {kind}, {rival.title}{about}: {accuracy}"
    if rival.overloaded:
        return f"{text}, and that one is {rival.tail_text}."
    if not rival.holds:
        return f"{text}, and that one misses the SLA ({format_percent(rival.violation_share)} of its queries are late)."
    tail = f"p{facts.tail:g} {format_ms(best.tail_ms)} instead of {format_ms(rival.tail_ms)}"
    if best.max_qps is None or not rival.max_qps:
        return f"{text}, {tail}."
    times = f"{best.max_qps / rival.max_qps:.3g} times the capacity ({format_rate(rival.max_qps)} queries/s)"
    return f"{text}, {times}, {tail}."
