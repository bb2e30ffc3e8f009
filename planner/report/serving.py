"""The plan under load: per policy the latency, the routes taken, violations over load, and capacity."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from planner.report.blocks import Chart, Column, Row, Rows, Section, Table
from planner.report.cells import format_rate
from planner.report.facts import Facts, PolicyFacts, best_policy, serving_facts
from planner.report.frames import frame_of
from planner.report.inputs import ServingInputs
from planner.report.restyle import grade_marks, undash
from planner.report.specs import capacity_spec
from profiles.units import format_ms
from serving_sim.charts import latency_chart, path_share_chart, violations_chart

__all__ = ["policy_rows", "serving_section"]

_TITLE = "Serving"
_HEIGHT = 260
_LATENCY = Chart(
    name="latency",
    title="Latency of the queries",
    summary="Per policy, the share of queries slower than each latency, on log scales; the vertical line is the SLA.",
    note="Where a curve crosses the SLA's line, that share of the queries is late.",
    spec={},
    rows=(),
)
_VIOLATIONS = Chart(
    name="violations",
    title="Late queries over load",
    summary="Per policy, the share of queries beyond the SLA over the offered load; the line is what the SLA allows.",
    note="The horizontal line is the share that the SLA allows.",
    spec={},
    rows=(),
    half=True,
)


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
        charts=(*_run_charts(facts, serving), *_capacity_charts(facts)),
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
        "tail_ms": policy.tail_ms,
        "overloaded": policy.overloaded,
        "violation_share": policy.violation_share,
        "accuracy": policy.accuracy,
        "correct_in_sla_per_s": policy.correct_in_sla_per_s,
        "max_qps": policy.max_qps,
        "ci_low": policy.ci_low,
        "ci_high": policy.ci_high,
        "interval": _interval_text(policy),
        "cost_per_million": facts.cost_per_million(policy),
        "provenance": policy.provenance,
    }


def _interval_text(policy: PolicyFacts) -> str | None:
    if policy.ci_low is None or policy.ci_high is None:
        return None
    return f"{format_rate(policy.ci_low)} to {format_rate(policy.ci_high)}"


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
        Column(key="interval", title=confidence, kind="range", graded=True),
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
    return "" if bound is None else f" No policy whatever could serve more than {format_rate(bound)} queries/s here."


def _notes(facts: Facts, serving: ServingInputs) -> tuple[str, ...]:
    """What the runs and the capacity search remark, each remark once, with the policies that it is about."""
    titles = {policy.label: policy.title for policy in facts.policies}
    remarks: dict[str, list[str]] = {}
    for row in (*serving.simulations, *(serving.capacity or {}).get("policies", ())):
        for note in (*row.get("notes", ()), *filter(None, (row.get("note"),))):
            # The page shows no energy.
            if not note.startswith("energy:"):
                remarks.setdefault(note, []).append(titles.get(row["policy"], row["policy"]))
    return tuple(f"{', '.join(policies)}: {note}" for note, policies in remarks.items())


def _run_charts(facts: Facts, serving: ServingInputs) -> tuple[Chart, ...]:
    """The charts of the simulator, with every policy or path drawn by what it rests on."""
    paths = {path.name: path.provenance for policy in facts.policies for path in policy.paths}
    latency, violations = _of_policies(serving.latency, facts), _of_policies(serving.violations, facts)
    # A path that took no query has no share to draw, and no grade here.
    shares = tuple(
        {**row, "size_to": _size_to(facts, row), "provenance": paths[row["path"]]}
        for row in serving.path_share
        if row["path"] in paths
    )
    allowed = 1 - facts.percentile / 100
    drawn: tuple[tuple[Chart, Rows, Callable[[], Any]], ...] = (
        (_LATENCY, latency, lambda: latency_chart(frame_of(latency), facts.sla_ms)),
        (_shares_chart(facts, serving.path_share_policy), shares, lambda: path_share_chart(frame_of(shares))),
        (_VIOLATIONS, violations, lambda: violations_chart(frame_of(violations), allowed)),
    )
    return tuple(
        replace(chart, spec={**grade_marks(undash(draw().to_dict())), "height": _HEIGHT}, rows=rows)
        for chart, rows, draw in drawn
        if rows
    )


def _size_to(facts: Facts, row: Row) -> int:
    """The class's largest size that the workload knows."""
    most = facts.largest_query
    return int(row["size_to"] if most is None or most < row["size_from"] else min(row["size_to"], most))


def _shares_chart(facts: Facts, label: str) -> Chart:
    title = next((policy.title for policy in facts.policies if policy.label == label), label)
    return Chart(
        name="path_share",
        title="Path taken, by query size",
        summary="For each class of query sizes, the share of queries that each path took.",
        note=f"Under {title}." if title else "",
        spec={},
        rows=(),
        half=True,
    )


def _of_policies(rows: Rows, facts: Facts) -> Rows:
    """The rows of the policies that were run, with their title as in the table, and their grade."""
    policies = {policy.label: policy for policy in facts.policies}
    known = [(row, policies[row["policy"]]) for row in rows if row["policy"] in policies]
    return tuple({**row, "policy": policy.title, "provenance": policy.provenance} for row, policy in known)


def _capacity_charts(facts: Facts) -> tuple[Chart, ...]:
    rows: list[Row] = [row for row in policy_rows(facts) if row["max_qps"] is not None]
    if not rows:
        return ()
    whole = tuple({**row, **_interval(row)} for row in rows)
    return (
        Chart(
            name="capacity",
            title="Capacity under the SLA",
            summary="Per policy, the most queries per second that hold the SLA, with intervals; the line is the load.",
            spec=capacity_spec(whole, facts.qps),
            rows=whole,
            note="The vertical line is the load asked for.",
        ),
    )


def _interval(row: Row) -> dict[str, float]:
    """A capacity without an interval is drawn as a point on its own."""
    return {key: row["max_qps"] if row[key] is None else row[key] for key in ("ci_low", "ci_high")}
