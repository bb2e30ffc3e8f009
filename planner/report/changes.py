"""What would change the answer: more load, another SLA, a device measured."""

from planner.report.cells import format_accuracy, format_percent, format_rate, join_names
from planner.report.facts import Facts, PolicyFacts, SlaFacts, best_policy
from profiles.units import format_ms

__all__ = ["changes_of"]


def changes_of(facts: Facts, best: PolicyFacts) -> tuple[str, ...]:
    """One sentence per change that the runs say something about."""
    return tuple(filter(None, (_load(facts, best), _sla(facts, best), _without_estimates(facts, best))))


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
    devices = join_names(best.estimated_devices)
    sure = best_policy(tuple(policy for policy in facts.policies if policy.provenance != "estimated"))
    if sure is None:
        return f"Measuring {devices}: no policy was tried that does without an estimated device."
    holds = "holds" if sure.holds else "does not hold"
    fate = sure.tail_text if sure.overloaded else f"{holds} the SLA (p{facts.tail:g} {sure.tail_text})"
    verb = "is " if sure.overloaded else ""
    return (
        f"Measuring {devices}: without estimated devices the best is {sure.title}, which {verb}{fate}, "
        f"at {format_accuracy(sure.accuracy)} accuracy."
    )


def _estimated(policy: PolicyFacts) -> str:
    return "an estimated " if policy.capacity_provenance == "estimated" else ""
