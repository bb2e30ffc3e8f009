"""The charts of the plan under load, with every policy or path drawn by what its figures rest on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from planner.report.blocks import Chart, Row, Rows
from planner.report.facts import Facts
from planner.report.frames import frame_of
from planner.report.inputs import ServingInputs
from planner.report.provenance import weakest
from planner.report.restyle import grade_marks, undash
from planner.report.specs import capacity_spec
from serving_sim.charts import latency_chart, path_share_chart, violations_chart
from serving_sim.charts_cost import cost_chart
from serving_sim.charts_load import (
    BOUND,
    capacity_accuracy_chart,
    capacity_accuracy_frame,
    goodput_chart,
)
from serving_sim.charts_queue import queue_chart
from serving_sim.frontier import frontier_chart, frontier_frame

__all__ = ["capacity_charts", "run_charts"]

_HEIGHT = 260
_BAR = 30
Draw = Callable[[Rows], Any]


def run_charts(facts: Facts, serving: ServingInputs) -> tuple[Chart, ...]:
    """The charts of the simulator, as far as there are rows for them."""
    drawn = (*_policy_charts(facts, serving), *_load_charts(facts, serving), *_best_charts(facts, serving))
    return tuple(_drawn(chart, draw) for chart, draw in drawn if chart.rows)


def capacity_charts(facts: Facts, rows: Sequence[Row]) -> tuple[Chart, ...]:
    """The capacity of each policy with its interval; `rows` are those of the policies."""
    known = [row for row in rows if row["max_qps"] is not None]
    if not known:
        return ()
    whole = tuple({**row, **_interval(row)} for row in known)
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


def _policy_charts(facts: Facts, serving: ServingInputs) -> tuple[tuple[Chart, Draw], ...]:
    allowed = 1 - facts.percentile / 100
    return (
        (
            Chart(
                name="latency",
                title="Latency of the queries",
                summary="Per policy, the share of queries slower than each latency, on log scales; the vertical line "
                "is the SLA.",
                note="Where a curve crosses the SLA's line, that share of the queries is late.",
                spec={},
                rows=_of_policies(serving.latency, facts),
            ),
            lambda rows: latency_chart(frame_of(rows), facts.sla_ms),
        ),
        (_shares_chart(facts, serving), lambda rows: path_share_chart(frame_of(rows))),
        (
            Chart(
                name="violations",
                title="Late queries over load",
                summary="Per policy, the share of queries beyond the SLA over the offered load; the line is what the "
                "SLA allows.",
                note="The horizontal line is the share that the SLA allows.",
                spec={},
                rows=_of_policies(serving.violations, facts),
                half=True,
            ),
            lambda rows: violations_chart(frame_of(rows), allowed),
        ),
    )


def _load_charts(facts: Facts, serving: ServingInputs) -> tuple[tuple[Chart, Draw], ...]:
    """What is read off the sweep over the load, the bound beside the policies."""
    if not serving.load:
        return ()
    load = frame_of(serving.load)
    served = tuple(row for row in serving.load if row["policy"] != BOUND)
    capacities = (serving.capacity or {}).get("policies", ())
    right, beside = frontier_frame(load).to_dicts(), capacity_accuracy_frame(capacities, load).to_dicts()
    return (
        (
            Chart(
                name="goodput",
                title="Queries in time over load",
                summary="Per policy, how many queries per second are served in the SLA over the offered load.",
                note="The straight line is all that was offered.",
                spec={},
                rows=_of_policies(served, facts),
                half=True,
            ),
            lambda rows: goodput_chart(frame_of(rows)),
        ),
        (
            Chart(
                name="right_over_load",
                title="Right predictions in time over load",
                summary="Per policy, correct predictions in the SLA per second over the offered load, and the fluid "
                "bound on any policy.",
                note="The grey line is the fluid bound: no policy whatever comes above it.",
                spec={},
                rows=_of_series(right, facts),
                half=True,
            ),
            lambda rows: frontier_chart(frame_of(rows)),
        ),
        (
            Chart(
                name="capacity_accuracy",
                title="Capacity and accuracy",
                summary="Per policy, accuracy over the most queries per second that hold the SLA; the line is the most "
                "that any policy could get right in time at each load.",
                note="Further right is more load, further up more accuracy; the line is the fluid bound.",
                spec={},
                rows=_of_series(beside, facts),
                half=True,
            ),
            lambda rows: capacity_accuracy_chart(frame_of(rows)),
        ),
    )


def _best_charts(facts: Facts, serving: ServingInputs) -> tuple[tuple[Chart, Draw], ...]:
    """The queue of the policy that is shown by its paths, and what every policy costs."""
    best = next((policy for policy in facts.policies if policy.label == serving.path_share_policy), None)
    queue = tuple({**row, "provenance": best.provenance} for row in serving.queue) if best else ()
    cost = _of_policies(serving.cost, facts)
    return (
        (
            Chart(
                name="queue",
                title="Queues over time",
                summary="Per device, how long arriving queries had to wait over the run: on average, and at most.",
                note=f"Under {best.title}: the mean, and the longest wait above it." if best else "",
                spec={},
                rows=queue,
                half=True,
            ),
            lambda rows: queue_chart(frame_of(rows), facts.sla_ms),
        ),
        *(
            (
                Chart(
                    name=name, title=title, summary=summary, note=note, spec={}, rows=_known(cost, figure), half=True
                ),
                lambda rows, figure=figure: cost_chart(frame_of(rows), figure),
            )
            for name, figure, title, summary, note in (
                (
                    "cost",
                    "cost_per_million_correct",
                    "Cost of right predictions",
                    "Per policy, the price of all the plan's devices over a million correct predictions in the SLA.",
                    "All devices of the plan are paid for, whether a policy uses them or not.",
                ),
                (
                    "energy",
                    "energy_j_per_query",
                    "Energy per query",
                    "Per policy, the energy of all the plan's devices over the queries served.",
                    "Modelled from the devices' idle and busy power.",
                ),
            )
        ),
    )


def _known(rows: Rows, figure: str) -> Rows:
    return tuple(row for row in rows if row.get(figure) is not None)


def _drawn(chart: Chart, draw: Draw) -> Chart:
    plain = undash(draw(chart.rows).to_dict())
    # An area has no dashes to show a grade by.
    spec = plain if chart.name == "queue" else grade_marks(plain)
    return replace(chart, spec={**spec, "height": _height(chart)})


def _height(chart: Chart) -> int:
    return _BAR * max(2, len(chart.rows)) if chart.name in {"cost", "energy"} else _HEIGHT


def _shares_chart(facts: Facts, serving: ServingInputs) -> Chart:
    paths = {path.name: path.provenance for policy in facts.policies for path in policy.paths}
    label = serving.path_share_policy
    counted = "samples" if any("samples" in row for row in serving.path_share) else "queries"
    title = next((policy.title for policy in facts.policies if policy.label == label), label)
    return Chart(
        name="path_share",
        title="Path taken, by query size",
        summary=f"For each class of query sizes, the share of {counted} that each path took.",
        note=f"Under {title}." if title else "",
        spec={},
        # A path that took no query has no share to draw, and no grade here.
        rows=tuple(
            {**row, "size_to": _size_to(facts, row), "provenance": paths[row["path"]]}
            for row in serving.path_share
            if row["path"] in paths
        ),
        half=True,
    )


def _size_to(facts: Facts, row: Row) -> int:
    """The class's largest size that the workload knows."""
    most = facts.largest_query
    return int(row["size_to"] if most is None or most < row["size_from"] else min(row["size_to"], most))


def _of_policies(rows: Rows, facts: Facts) -> Rows:
    """The rows of the policies that were run, with their title as in the table, and their grade."""
    policies = {policy.label: policy for policy in facts.policies}
    known = [(row, policies[row["policy"]]) for row in rows if row["policy"] in policies]
    return tuple({**row, "policy": policy.title, "provenance": policy.provenance} for row, policy in known)


def _of_series(rows: Sequence[Mapping[str, Any]], facts: Facts) -> Rows:
    """The same of rows whose `series` is a policy or the bound, which rests on all paths."""
    policies = {policy.label: policy for policy in facts.policies}
    everything = weakest([path.provenance for policy in facts.policies for path in (*policy.paths, *policy.reach)])
    known = [(row, policies.get(row["series"])) for row in rows if row["series"] in {*policies, BOUND}]
    return tuple(
        {
            **row,
            "series": BOUND if policy is None else policy.title,
            "provenance": everything if policy is None else policy.capacity_provenance,
        }
        for row, policy in known
    )


def _interval(row: Row) -> dict[str, float]:
    """A capacity without an interval is drawn as a point on its own."""
    return {key: row["max_qps"] if row[key] is None else row[key] for key in ("ci_low", "ci_high")}
