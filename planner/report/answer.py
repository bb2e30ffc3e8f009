"""The answer in plain sentences, composed from the facts and nothing else."""

from dataclasses import dataclass

from planner.report.blocks import Tile
from planner.report.cells import format_accuracy, format_money, format_percent, format_points, format_rate
from planner.report.facts import Facts, PolicyFacts, SlaFacts, best_policy
from profiles.units import format_ms

__all__ = ["Answer", "compose_answer"]

# Half of the last digit that is shown.
_SAME_ACCURACY = 0.00005


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """The headline, what backs it, what would change it, and the key figures."""

    headline: str
    sentences: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    tiles: tuple[Tile, ...] = ()


def compose_answer(facts: Facts | None, constant_accuracy: float | None = None) -> Answer:
    """The answer to "what serves this workload within the SLA?"; says so where nothing was simulated.

    An accuracy that does not beat `constant_accuracy`, that of one constant answer, is said to be none.
    """
    best = best_policy(facts.policies) if facts else None
    if facts is None or best is None:
        return Answer(headline="Nothing was served yet, so this report does not say what to serve.")
    return Answer(
        headline=_headline(facts, best),
        sentences=tuple(filter(None, _sentences(facts, best, constant_accuracy))),
        changes=tuple(filter(None, (_load(facts, best), _sla(facts, best), _without_estimates(facts, best)))),
        tiles=_tiles(facts, best),
    )


def _headline(facts: Facts, best: PolicyFacts) -> str:
    load = f"{format_rate(facts.qps)} queries/s within {format_ms(facts.sla_ms)} at p{facts.percentile:g}"
    if not best.holds:
        return (
            f"Nothing tried serves {load}: the nearest, {best.title}, is too late for "
            f"{format_percent(best.violation_share)} of the queries."
        )
    estimate = "by estimate, " if best.provenance == "estimated" else ""
    if best.static:
        return f"Serve {best.title}: {estimate}this one path holds {load}."
    return f"Route with {best.title} over {_join([path.title for path in best.paths])}: {estimate}that holds {load}."


def _sentences(facts: Facts, best: PolicyFacts, constant_accuracy: float | None) -> tuple[str, ...]:
    return (
        _figures(facts, best),
        _constant(best, constant_accuracy),
        _cost(facts, best),
        _against(facts, best),
    )


def _constant(best: PolicyFacts, constant_accuracy: float | None) -> str:
    if constant_accuracy is None or best.accuracy > constant_accuracy:
        return ""
    return (
        "Accuracy says little here: one constant answer would be right for "
        f"{format_accuracy(constant_accuracy)} of the held-out rows. The AUC in the search tells how well models rank."
    )


def _figures(facts: Facts, best: PolicyFacts) -> str:
    verb = "is" if best.holds else "would be"
    text = (
        f"{_basis(best)}, the p{facts.tail:g} latency {verb} {format_ms(best.tail_ms)} "
        f"and {format_accuracy(best.accuracy)} of the predictions are right"
    )
    if not best.static:
        text += (
            f" ({_join([f'{format_percent(path.share)} of the queries go to {path.title}' for path in best.paths])})"
        )
    if best.max_qps is None:
        return f"{text}."
    return f"{text}; its capacity is {_capacity(facts, best)}, {best.max_qps / facts.qps:.3g} times the load asked for."


def _basis(policy: PolicyFacts) -> str:
    if devices := policy.estimated_devices:
        return f"By estimate (no latency was measured on {_join(devices)})"
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
            "(the devices used are paid by the hour, busy or idle)."
        )
    missing = [path.device for path in best.paths if path.device in facts.unpriced]
    return f"What a million predictions cost is not known: the study gives no price for {_join(sorted(set(missing)))}."


def _against(facts: Facts, best: PolicyFacts) -> str:
    others = tuple(policy for policy in facts.policies if policy.static != best.static)
    rival = best_policy(others)
    if rival is None:
        return ""
    kind = "single path" if rival.static else "routing policy"
    about = " (by estimate)" if "estimated" in {best.provenance, rival.provenance} else ""
    gain = best.accuracy - rival.accuracy
    accuracy = "the same accuracy" if abs(gain) < _SAME_ACCURACY else f"accuracy {format_points(gain)}"
    text = f"Against the best {kind}, {rival.title}{about}: {accuracy}"
    if not rival.holds:
        return f"{text}, and that one misses the SLA ({format_percent(rival.violation_share)} of its queries are late)."
    tail = f"p{facts.tail:g} {format_ms(best.tail_ms)} instead of {format_ms(rival.tail_ms)}"
    if best.max_qps is None or not rival.max_qps:
        return f"{text}, {tail}."
    times = f"{best.max_qps / rival.max_qps:.3g} times the capacity ({format_rate(rival.max_qps)} queries/s)"
    return f"{text}, {times}, {tail}."


def _load(facts: Facts, best: PolicyFacts) -> str:
    if best.max_qps is None or not best.holds:
        return ""
    low = best.max_qps if best.ci_low is None else best.ci_low
    strongest = max(facts.policies, key=lambda policy: policy.max_qps or 0.0)
    more = ""
    if strongest.label != best.label:
        more = (
            f" {strongest.title} would hold it up to {_estimated(strongest)}{format_rate(strongest.max_qps or 0)} "
            f"queries/s, at {format_accuracy(strongest.accuracy)} accuracy."
        )
    if facts.qps >= low:
        return (
            f"More load: {format_rate(facts.qps)} queries/s is at the edge already; a little more breaks the SLA.{more}"
        )
    return f"More load: above {_estimated(best)}{format_rate(low)} queries/s it may no longer hold the SLA.{more}"


def _sla(facts: Facts, best: PolicyFacts) -> str:
    """Only what was simulated: a policy that routes by the SLA routes otherwise under another one."""
    tried = sorted((one for one in facts.slas if one.label == best.label), key=lambda one: one.sla_ms)
    if best.holds:
        return _tighter(facts, best, [one for one in tried if one.sla_ms < facts.sla_ms])
    looser = next((one for one in tried if one.sla_ms > facts.sla_ms and one.holds), None)
    if looser is None:
        return ""
    return f"A looser SLA: {best.title} would hold one of {_estimated(best)}{format_ms(looser.sla_ms)}."


def _tighter(facts: Facts, best: PolicyFacts, tried: list[SlaFacts]) -> str:
    if not tried:
        return ""
    missed = next((one for one in reversed(tried) if not one.holds), None)
    if missed is None:
        return f"A tighter SLA: it still holds {_estimated(best)}{format_ms(tried[0].sla_ms)}, the tightest tried."
    held = next((one.sla_ms for one in tried if one.sla_ms > missed.sla_ms), facts.sla_ms)
    late = format_percent(missed.violation_share)
    return (
        f"A tighter SLA: it holds {_estimated(best)}{format_ms(held)}, but not {format_ms(missed.sla_ms)} "
        f"({late} of the queries would be late)."
    )


def _without_estimates(facts: Facts, best: PolicyFacts) -> str:
    if best.provenance != "estimated":
        return ""
    devices = _join(best.estimated_devices)
    sure = best_policy(tuple(policy for policy in facts.policies if policy.provenance != "estimated"))
    if sure is None:
        return f"Measuring {devices}: no policy was tried that does without an estimated device."
    holds = "holds" if sure.holds else "does not hold"
    return (
        f"Measuring {devices}: without estimated devices the best is {sure.title}, which {holds} the SLA "
        f"(p{facts.tail:g} {format_ms(sure.tail_ms)}) at {format_accuracy(sure.accuracy)} accuracy."
    )


def _estimated(policy: PolicyFacts) -> str:
    return "an estimated " if policy.provenance == "estimated" else ""


def _tiles(facts: Facts, best: PolicyFacts) -> tuple[Tile, ...]:
    cost = facts.cost_per_million(best)
    tail = Tile(
        label=f"p{facts.tail:g} latency",
        value=format_ms(best.tail_ms),
        note=f"SLA {format_ms(facts.sla_ms)}",
        provenance=best.provenance,
    )
    accuracy = Tile(
        label="Accuracy",
        value=format_accuracy(best.accuracy),
        note="on held-out data",
        # A routing policy's accuracy mixes measured ones by simulated shares.
        provenance="measured" if best.static else best.provenance,
    )
    tiles = [tail, accuracy]
    if best.max_qps is not None:
        known = best.ci_low is not None and best.ci_high is not None
        note = f"{format_rate(best.ci_low or 0)} to {format_rate(best.ci_high or 0)}" if known else ""
        tiles.append(
            Tile(label="Capacity, queries/s", value=format_rate(best.max_qps), note=note, provenance=best.provenance)
        )
    if cost is not None and best.holds:
        tiles.append(
            Tile(
                label="Cost per million predictions",
                value=format_money(cost),
                note=f"at {format_rate(facts.qps)} queries/s",
                provenance=best.provenance,
            )
        )
    return tuple(tiles)


def _join(names: list[str] | tuple[str, ...]) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
