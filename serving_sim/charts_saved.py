"""A plan's run in pictures: the policy beside others and over loads, as frames, charts and one page."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from serving_sim.capacity_search import draw_trial
from serving_sim.charts import latency_chart, latency_frame, path_share_chart, path_share_frame, violations_chart
from serving_sim.charts_cost import COST_FIGURES, cost_chart, cost_frame
from serving_sim.charts_load import BOUND, goodput_chart, load_over_qps
from serving_sim.charts_page import save_page
from serving_sim.charts_queue import queue_chart, queue_frame
from serving_sim.engine import simulate
from serving_sim.fluid_bound import upper_bound_qps
from serving_sim.frontier import frontier_chart, frontier_frame
from serving_sim.metrics import SimulationResult
from serving_sim.plan import Plan
from serving_sim.policies import PolicyLike, as_policy, policy_label
from serving_sim.suitable import suitable_policies

if TYPE_CHECKING:
    import polars as pl

__all__ = ["charts_of", "frames_of", "save_charts"]

_BESIDE = ("mp-rec", "table-switch", "headroom")
_LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1)
_SWEEP_QUERIES = 50_000
_PILOT_QUERIES = 20_000
_PAGE = "charts.html"
_COST, _ENERGY = COST_FIGURES


def save_charts(plan: Plan, policy: PolicyLike, folder: Path) -> tuple[str, ...]:
    """Write each frame (CSV, Parquet), each chart (Vega-Lite) and a page of all that opens offline; their names."""
    from profiles.files import make_folder, replace_file

    frames = frames_of(plan, policy)
    charts = charts_of(plan, frames)
    make_folder(folder)
    for name, frame in frames.items():
        frame.write_csv(folder / f"{name}.csv")
        frame.write_parquet(folder / f"{name}.parquet")
    for name, chart in charts.items():
        replace_file(folder / f"{name}.vl.json", chart.to_json() + "\n")
    drawn = list(charts.values())
    pairs = [drawn[start : start + 2] for start in range(0, len(drawn), 2)]
    save_page(pairs, f"{plan.name} under {policy_label(as_policy(policy))}", folder / _PAGE)
    return (*(f"{name}.csv" for name in frames), _PAGE)


def frames_of(plan: Plan, policy: PolicyLike) -> "dict[str, pl.DataFrame]":
    """The frames by name: latency, path_share, queue, cost, load; the policy first, then those that users know."""
    routers = {policy_label(router): router for router in map(as_policy, (policy, *suitable_policies(plan, _BESIDE)))}
    results: Mapping[str, SimulationResult] = {
        label: simulate(plan, policy=router) for label, router in routers.items()
    }
    own = next(iter(results.values()))
    short = plan.at(queries=min(plan.workload.queries, _SWEEP_QUERIES))
    most_qps = upper_bound_qps(draw_trial(plan, min(plan.workload.queries, _PILOT_QUERIES)).rows())
    rates = np.unique([float(f"{share * most_qps:.3g}") for share in _LOADS])
    return {
        "latency": latency_frame(results),
        "path_share": path_share_frame(own),
        "queue": queue_frame(own),
        "cost": cost_frame(results),
        "load": load_over_qps(short, list(routers.values()), rates.tolist()),
    }


def charts_of(plan: Plan, frames: "Mapping[str, pl.DataFrame]") -> dict[str, Any]:
    """The charts by name, as far as there is something to draw."""
    load, slas_ms = frames["load"], plan.workload.slas_ms
    policies = load.filter(load["policy"] != BOUND)
    charts = {
        "latency": latency_chart(frames["latency"], *slas_ms),
        "path_share": path_share_chart(frames["path_share"]),
        "violations": violations_chart(policies, 1 - plan.workload.percentile / 100),
        "goodput": goodput_chart(load),
        "frontier": frontier_chart(frontier_frame(load)),
        "queue": queue_chart(frames["queue"], *slas_ms),
        **{name: cost_chart(frames["cost"], figure) for name, figure in (("cost", _COST), ("energy", _ENERGY))},
    }
    return {name: chart for name, chart in charts.items() if chart is not None}
