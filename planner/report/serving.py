"""The plan under load: per policy the latency, the routes taken, violations over load, and capacity."""

from collections.abc import Mapping
from typing import Any

from planner.report.blocks import Column, Rows, Section, Table
from planner.report.cells import format_rate
from planner.report.facts import Facts, PolicyFacts, best_policy, serving_facts
from planner.report.inputs import ServingInputs
from planner.report.serving_charts import capacity_charts, run_charts
from profiles.units import format_ms
from serving_sim.class_metrics import or_none

__all__ = ["policy_rows", "serving_section"]

_TITLE = "Serving"


def serving_section(plan_object: Mapping[str, Any] | None, serving: ServingInputs | None) -> Section:
    """Charts of the runs, and the table of policies with the best one lifted out."""
    if plan_object is None or serving is None:
        return Section(
            anchor="serving", title=_TITLE, short="Serving", missing="The plan was not simulated in this run."
        )
    facts = serving_facts(plan_object, serving)
    table = Table(
        name="policies",
        caption=f"Policies at {format_rate(facts.qps)} queries/s, SLA {format_ms(facts.sla_ms)}",
        columns=_columns(facts),
        rows=policy_rows(facts),
        highlight="best",
    )
    return Section(
        anchor="serving",
        title=_TITLE,
        short="Serving",
        prose=(_prose(facts, serving),),
        charts=(*run_charts(facts, serving), *capacity_charts(facts, policy_rows(facts))),
        tables=(table,),
        notes=_notes(facts, serving),
    )


def policy_rows(facts: Facts) -> Rows:
    """One row per policy, the best first."""
    best = best_policy(facts.policies)
    rows = [_policy_row(facts, policy, best=policy is best) for policy in facts.policies]
    return tuple(sorted(rows, key=lambda row: (not row["best"], not row["holds"], -row["correct_in_sla_per_s"])))


def _policy_row(facts: Facts, policy: PolicyFacts, *, best: bool) -> dict[str, Any]:
    return {
        "policy": policy.label,
        "title": policy.title,
        "best": best,
        "holds": policy.holds,
        "tail": policy.tail_text,
        "tail_ms": or_none(policy.tail_ms),
        "overloaded": policy.overloaded,
        "violation_share": policy.violation_share,
        "accuracy": policy.accuracy,
        "correct_in_sla_per_s": policy.correct_in_sla_per_s,
        "max_qps": policy.max_qps,
        "ci_low": policy.ci_low,
        "ci_high": policy.ci_high,
        "interval": _interval_text(policy.ci_low, policy.ci_high),
        "by_tables": _interval_text(policy.table_low, policy.table_high),
        "spare": _spare_text(policy),
        "cost_per_million": facts.cost_per_million(policy),
        "provenance": policy.provenance,
    }


def _interval_text(low: float | None, high: float | None) -> str | None:
    if low is None or high is None:
        return None
    return f"{format_rate(low)} to {format_rate(high)}"


def _spare_text(policy: PolicyFacts) -> str | None:
    if policy.spare_qps is None:
        return None
    return f"{format_rate(policy.spare_qps)} without {policy.spare_device}"


def _columns(facts: Facts) -> tuple[Column, ...]:
    confidence = f"{100 * facts.confidence:g} % interval"
    return (
        Column(key="title", title="Policy"),
        Column(key="holds", title="Holds", kind="tick", note=f"the SLA at p{facts.percentile:g}"),
        Column(key="tail", title=f"p{facts.tail:g}", kind="words", graded=True),
        Column(
            key="violation_share", title="Late", kind="percent", graded=True, note="share of queries beyond the SLA"
        ),
        Column(
            key="accuracy",
            title="Accuracy",
            kind="accuracy",
            note="measured in training on held-out data; of a routing policy, mixed by the simulated shares",
        ),
        Column(
            key="correct_in_sla_per_s",
            title="Right in SLA /s",
            kind="rate",
            graded=True,
            note="correct predictions in the SLA",
        ),
        Column(key="max_qps", title="Capacity /s", kind="rate", graded=True, note="most queries per second in the SLA"),
        Column(key="interval", title=confidence, kind="range", graded=True, note="from the queries drawn"),
        Column(key="by_tables", title="By tables", kind="range", graded=True, note="from the latencies' error bars"),
        Column(key="spare", title="One device down", kind="words", graded=True, note="capacity without the worst loss"),
        Column(
            key="cost_per_million",
            title="Cost per million",
            kind="number",
            graded=True,
            note="predictions at this load, in the currency of the study's prices",
        ),
        Column(key="provenance", title="Rests on", kind="provenance", note="the weakest of the latencies used"),
    )


def _prose(facts: Facts, serving: ServingInputs) -> str:
    queries = {row.get("queries") for row in serving.simulations}
    drawn = f"{queries.pop():,} queries" if len(queries) == 1 and None not in queries else "Queries"
    return (
        f"{drawn} of {format_rate(facts.samples_per_query)} samples on average were simulated per policy, all policies "
        "on the same ones. A static policy sends every query down one path; the others choose per query. "
        f"Everything here is simulated, so nothing here is marked as measured.{_bound(serving)}"
    )


def _bound(serving: ServingInputs) -> str:
    bound = (serving.capacity or {}).get("upper_bound_qps")
    if bound is None:
        return ""
    return f" One by one and with none refused, any policy serves at most {format_rate(bound)} queries/s here."


def _notes(facts: Facts, serving: ServingInputs) -> tuple[str, ...]:
    """What the runs and the capacity search remark, each remark once, with the policies that it is about."""
    titles = {policy.label: policy.title for policy in facts.policies}
    remarks: dict[str, list[str]] = {}
    for row in (*serving.simulations, *(serving.capacity or {}).get("policies", ())):
        for note in (*row.get("notes", ()), *filter(None, (row.get("note"),))):
            # Without power figures the page shows no energy.
            if serving.cost or not note.startswith("energy:"):
                remarks.setdefault(note, []).append(titles.get(row["policy"], row["policy"]))
    return tuple(f"{', '.join(policies)}: {note}" for note, policies in remarks.items())
