"""The simulator beside a plan that is served for real on this machine, at three loads, and on Ray Serve."""

from collections.abc import Mapping
from typing import Any

from profiles.errors import InputError, MeasurementError
from serving_sim.replay import ReplayOptions, replay_plan
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import bullets, percent, significant, table
from tests.benchmarks.replay_plan import wanted_plan

__all__ = ["BENCHMARK", "shortfalls"]

_LOADS, _SERVE_LOADS = (0.3, 0.6, 0.8), (0.3, 0.6)
# One that refuses nothing, beside the plan's own.
_ROUTER = "mp-rec"
# Goals: queue logic by load (p50 and p99), and predictions.
_QUEUE_LIMITS = {0.3: 0.05, 0.6: 0.05, 0.8: 0.12}
_QUEUE_VIOLATIONS, _PREDICTED_VIOLATIONS = 0.01, 0.02
_P50_LIMIT, _P99_LIMIT, _SPREADS = 0.10, 0.15, 1.5
_JUDGED_LOADS = (0.3, 0.6)

_INTRODUCTION = """\
One process serves the plan's paths on this machine with real models (random weights, one thread, a core of its own),
another sends queries when they are due, whatever happened to those before (open loop), and routes them by the plan's
policy. Latency counts from the scheduled arrival. The simulator then gets the same arrivals and sizes. Load is the
share of the rate at which the same processes served a backlog."""
_MEANING = """\
- **queue logic**: the simulator is given the service time that each query had, on the path that it took, and two
  medians: how long a query takes from its arrival to an idle server, and between two queries on a busy one. All queries
  but the first hundredth. Goal: p50 and p99 within 5 % at load 0.3 and 0.6, within 12 % at 0.8, violations within
  1 point.
- **prediction**: the run is cut into segments of half a second. The odd ones calibrate: latency over size and path,
  what idleness costs, dispatch, and residuals, redrawn in blocks of 100 queries (20 times, means are shown). The even
  ones are judged. Routing is simulated too. Goal: p50 within 10 %, p99 within 15 % or 1.5 times the run's own spread,
  violations within 2 points, at load 0.3 and 0.6; 0.8 is reported.
- **own spread**: the odd segments, as measured, against the even ones. A machine that is shared drifts within seconds,
  and no prediction from one half of a run can be held to less than the two halves differ.
- **plan's own tables**: what `recplan simulate` says of the plan, with nothing calibrated.
- **Ray Serve**: a deployment for each device, one query at a time, sent from an asyncio process. Its dispatch, the way
  back included, and its handover are measured in the same way. Loads are shares of what Serve serves of a backlog."""


def _measure(quick: bool) -> Figures:
    plan, which = wanted_plan(quick=quick)
    seconds = 4.0 if quick else 32.0
    policies = (_ROUTER,) if quick else tuple(dict.fromkeys((plan.policy.name, _ROUTER)))
    options = ReplayOptions(loads=_LOADS, seconds=seconds)
    replays = [replay_plan(plan, policy=policy, options=options).to_object() for policy in policies]
    figures: Figures = {"plan": which, "seconds_per_load": seconds, "replays": replays, "serve": None}
    if quick:
        return {**figures, "serve_note": "not run with --quick"}
    try:
        options = ReplayOptions(loads=_SERVE_LOADS, seconds=seconds, on_serve=True)
        figures["serve"] = replay_plan(plan, policy=_ROUTER, options=options).to_object()
    except (InputError, MeasurementError) as error:
        return {**figures, "serve_note": str(error)}
    return {**figures, "serve_note": ""}


def shortfalls(replayed: Mapping[str, Any]) -> list[str]:
    """What falls short of the goals, a line each."""
    lines = []
    for run in replayed["runs"]:
        load, error, logic, spread = run["load"], run["error"], run["queue_logic"]["error"], run["spread"]
        limit = _QUEUE_LIMITS[load]
        lines += [
            f"load {load:g}, queue logic: {name} is off by {logic[name]:+.1%}, goal {limit:.0%}."
            for name in ("p50", "p99")
            if abs(logic[name]) > limit
        ]
        if abs(logic["sla_violation_share"]) > _QUEUE_VIOLATIONS:
            lines.append(f"load {load:g}, queue logic: violations are off by {logic['sla_violation_share']:+.2%}.")
        if load not in _JUDGED_LOADS:
            continue
        p99_limit = max(_P99_LIMIT, _SPREADS * abs(spread["p99"]))
        for name, goal in (("p50", _P50_LIMIT), ("p99", p99_limit), ("sla_violation_share", _PREDICTED_VIOLATIONS)):
            if abs(error[name]) > goal:
                lines.append(f"load {load:g}, prediction: {name} is off by {error[name]:+.1%}, goal {goal:.1%}.")
    return lines


def _describe(report: Mapping[str, Any]) -> list[str]:
    replays, serve = report["replays"], report["serve"]
    first = replays[0]
    head = [
        f"plan: {report['plan']}; SLA {first['sla_ms']:g} ms; {report['seconds_per_load']:g} s at each load",
        *first["skipped"],
        *dict.fromkeys(note for one in replays for run in one["runs"] for note in run["notes"]),
    ]
    blocks = [_INTRODUCTION, bullets(head)]
    for one in replays:
        blocks += [f"## Policy {one['policy']}", f"Capacity {one['capacity_qps']:,.0f} queries/s.", *_sections(one)]
    short = [f"{one['policy']}, {line}" for one in replays for line in shortfalls(one)]
    blocks += ["## What falls short", bullets(short or ["Every goal is met in this run."])]
    blocks.append("## On Ray Serve")
    if serve is None:
        blocks.append(f"No figures: {report['serve_note']}.")
    else:
        blocks += [f"Policy {serve['policy']}, capacity {serve['capacity_qps']:,.0f} queries/s.", *_sections(serve)]
    return [*blocks, "## What the figures mean", _MEANING]


def _sections(replayed: Mapping[str, Any], level: str = "###") -> list[str]:
    blocks = []
    for run in replayed["runs"]:
        blocks += [f"{level} Load {run['load']:g} ({run['qps']:,.0f} queries/s, {run['queries']:,})", _figures(run)]
        blocks.append(_remarks(run))
    blocks += [f"{level} Paths", _paths(replayed)]
    return blocks


def _figures(run: Mapping[str, Any]) -> str:
    logic, planned = run["queue_logic"], run["as_planned"]
    rows = [
        ("measured, judged segments", *_latencies(run["measured"])),
        ("prediction", *_latencies(run["simulated"])),
        ("error", *_errors(run["error"])),
        ("own spread", *_errors(run["spread"])),
        ("plan's own tables", *_latencies(planned["simulated"])),
        ("error", *_errors(planned["error"])),
        ("measured, whole run", *_latencies(logic["measured"])),
        ("queue logic", *_latencies(logic["simulated"])),
        ("error", *_errors(logic["error"])),
    ]
    return table(("", "p50 ms", "p95 ms", "p99 ms", "late"), rows)


def _latencies(figures: Mapping[str, float] | None) -> tuple[str, ...]:
    if figures is None:
        return ("-",) * 4
    return (*(significant(figures[name]) for name in ("p50", "p95", "p99")), f"{figures['sla_violation_share']:.2%}")


def _errors(figures: Mapping[str, float] | None) -> tuple[str, ...]:
    if figures is None:
        return ("-",) * 4
    names = ("p50", "p95", "p99")
    return (*(f"{figures[name]:+.1%}" for name in names), f"{100 * figures['sla_violation_share']:+.2f} points")


def _remarks(run: Mapping[str, Any]) -> str:
    found, late = run["calibration"], run["generator_late_ms"]
    busy = ", ".join(f"{device['name']} {percent(device['utilisation'])}" for device in run["devices"])
    costs = "; ".join(
        f"{one['name']}: dispatch {one['dispatch_ms']:.3f} ms, handover {one['handover_ms']:.3f} ms"
        for one in found["devices"]
    )
    scatter = "; ".join(
        f"{path['name']}: sigma {path['sigma']:.2f}, correlation {path['correlation']:.2f}"
        + _after_idleness(path["idle_gap"])
        for path in found["paths"]
    )
    lateness = f"generator late by {significant(late['p50'], 2)} ms (p50), {significant(late['p99'], 2)} ms (p99)"
    return bullets([f"busy: {busy}; {lateness}", costs, scatter, *found["notes"]])


def _after_idleness(gap: Mapping[str, float] | None) -> str:
    if gap is None:
        return ""
    cost = f"+{gap['added_ms']:.2f} ms" if gap["added_ms"] else f"{gap['factor']:.2f}x"
    return f", {cost} after {gap['after_ms']:g} ms"


def _paths(replayed: Mapping[str, Any]) -> str:
    rows = [
        (
            f"{run['load']:g}, {path['name']}",
            percent(path["share"]),
            percent(path["simulated_share"]),
            *(_latencies(path[side])[place] for place in (0, 2) for side in ("measured", "simulated")),
        )
        for run in replayed["runs"]
        for path in run["paths"]
    ]
    columns = ("load, path", "share", "simulated", "p50 ms", "simulated", "p99 ms", "simulated")
    return table(columns, rows)


BENCHMARK = Benchmark(
    name="replay", title="The simulator beside a plan served for real", measure=_measure, describe=_describe
)

if __name__ == "__main__":
    main(BENCHMARK)
