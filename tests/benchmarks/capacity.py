"""The rate that models never profiled whole hold an SLA at: predicted from their components, beside a real search."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.composition import CostModel
from planner.cost_model.model import FittedDeviceModel
from planner.cost_model.scatter_sources import scatter_of_profiles
from planner.cost_model.training_rows import WHOLE_MODEL
from planner.cost_model.whole_models import WholeModelSweep
from planner.mapping.latency_tables import latency_table
from planner.pipeline.data import StudyData, load_study_data
from planner.pipeline.measuring import SERVED_BATCHES, measure_study, validation_models
from planner.pipeline.modelling import fit_cost_model
from planner.pipeline.sweeping import candidate_models, sweep_options
from planner.pipeline.workspace import open_workspace
from planner.progress import QuietProgress
from planner.study import Study, load_study
from profiles.hardware import LOCAL_CPU
from profiles.records import ComponentProfile
from profiles.store import ProfileStore
from profiles.units import MS_PER_S
from representations.specs import ModelSpec
from serving_sim.capacity import find_capacity
from serving_sim.plan import Device, Ids, LatencyTable, Plan, PolicyChoice, Sizes, Workload
from serving_sim.plan import Path as PlanPath
from serving_sim.replay import LiveTrace
from serving_sim.sizes import mean_size
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import bullets, percent, significant, table
from tests.benchmarks.measured_components import with_measured_components
from tests.benchmarks.replay_plan import QUICKSTART, representatives
from tests.benchmarks.rising_load import find_highest, serve_rising
from tests.benchmarks.served_beside import ServedBeside, as_served, late_ms_of, nearest_to, observe, serve_known
from tests.benchmarks.simulated_blocks import REPETITIONS, predict_highest, queue_logic_highest, with_table

__all__ = ["BENCHMARK", "parts_of"]

_KINDS = ("table", "dhe", "hybrid")
_SIZES = (1, 4, 16, 64, 256, 1024)
_MEAN, _LARGEST = 64.0, 1024
_SIZES_OF_QUERIES = Sizes(mean=_MEAN, sigma=1.0, maximum=_LARGEST)
# An SLA that the larger queries hardly hold on an idle device says little of capacity; in simulation this one is
# reached at about two thirds of saturation.
_SLA_OVER_SERVICE = 5.0
# The usual SLA of a ranking model; below it, this machine's stalls decide.
_LEAST_SLA_MS = 10.0
# Of the predicted rate; some below it, as the lowest must hold the SLA whatever the error.
_SHARES = (0.25, 0.5, 0.7, 0.85, 1.0, 1.15, 1.35, 1.6)
_GOAL = 0.10
# Every so manyth model that was measured whole is timed anew before each prediction.
_OF_KNOWN = 3
_QUERIES, _SEEDS = 20_000, 5
# A pass takes less time than this machine drifts.
_PASSES, _SECONDS = 4, 3.0

_INTRODUCTION = f"""\
Three models of the quickstart's search space, of which no whole model was measured before the prediction was made: the
cost model knows components of the study's candidates, and what other models cost as a whole. From these come a latency
table and, by simulation, the highest Poisson rate at which p99 stays within the SLA: {_SLA_OVER_SERVICE:g} times what
the model is predicted to take for a query of the 99th percentile's size (lognormal sizes, mean {_MEAN:g}, sigma 1, at
most {_LARGEST}), and {_LEAST_SLA_MS:g} ms at least. How much slower than their labels calls are on this machine, at the
time, is asked of known models: timed by themselves just before for **called**, and two that are most alike served in
turn with the model for **served**, which says what dispatch, pauses and the neighbours cost while serving. Each model
is served on this machine at rising load, in {_PASSES} passes of {_SECONDS:g} s at each rate."""
_MEANING = f"""\
- **called**: predicted from component profiles, and how much slower than their labels known models were when they were
  called one time after the other just before. **served**: and how much slower the known models were, along size (a
  parabola), when they were served in turn with the model's passes (between the two by latency), with the scatter, the
  gap after idleness and the dispatch seen then. No figure of the model itself is in either.
- **replayed**: where p99 of all passes' queries crosses the SLA, taken as rising with the rate (isotonic fit); 95 %
  interval by drawing seconds anew.
- What is predicted is this very experiment: the queries that were sent, with their arrivals, sizes and pauses, through
  the same fit; the median of {REPETITIONS} simulations, with an interval that joins the scatter of service times and
  the error bars of the table. **lasting load** is the highest rate of a load without end by `recplan capacity`'s
  search, for the same table as **served**: a block begins idle and is over before the longest queues have grown.
- The error in parts, each step a simulation with one thing more of what happened: **serving**: what the known models'
  serving changed; **component**: the model's own components measured, beside predicted; **composition**: the whole
  model measured, beside the sum; **while serving**: what a calibration makes of the replay itself (latency over size,
  scatter, gap, dispatch), beside those measured; **order**: the service times of the replay as they came, query by
  query, beside such scatter drawn anew; **queueing**: the replay, beside a simulation with its service times. They
  multiply to the whole.
- What is found by serving is itself sure to its interval only: the pace of this machine changes within a minute, by
  more than the models' predictions are off, and near the SLA a service that is longer by a twentieth costs a tenth of
  the rate.
- The run before this one, on the same sweep, with a slowing size by size instead of along a parabola: **called** off by
  +7, +1 and +4 %, **served** by -3, -15 and -7 %. Runs before compared what was found by serving with a load without
  end, and were off by -17, -11 and -13 % (-9 to -15 % of it queueing), and by -16, -7 and -8 %. Before that, known
  models were not served in turn: **served** was within 10 % in 4 of 12 cases, on a machine whose p99 was late at low
  rates already. Without a known model the error was up to +240 %. Polling instead of sleeping
  (`recplan replay --busy-poll`) did not make calls after a pause faster (2.0 ms at 50 queries/s and 1.2 ms at 800,
  polling or not, in a single run of a table, of which no script is kept).
- Goal: **served** within 10 % of replayed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Setting:
    """What all models share."""

    study: Study
    data: StudyData
    cost_model: CostModel
    profiles: tuple[ComponentProfile, ...]
    known: tuple[ModelSpec, ...]
    device: str
    folder: Path

    def as_now(self, spec: ModelSpec) -> CostModel:
        """The cost model, with how much slower than their labels calls are now: of known models, timed anew."""
        store = ProfileStore(self.folder / f"before-{spec.name}")
        options = sweep_options(self.study)
        served = WholeModelSweep(specs=self.known[::_OF_KNOWN], store=store, zipf=self.data.zipf, options=options)
        served.time_served(SERVED_BATCHES)
        labels = [row for row in self.profiles if row.kind == WHOLE_MODEL]
        scatter = scatter_of_profiles([*labels, *store.load()])
        fitted = self.cost_model.models[self.device]
        assert isinstance(fitted, FittedDeviceModel)
        models = {**self.cost_model.models, self.device: replace(fitted, scatter=scatter)}
        return replace(self.cost_model, models=models)

    def known_plans(self, spec: ModelSpec, cost_model: CostModel) -> list[Plan]:
        """Of the two known models that are most alike: of the same representation if any is, and nearest in latency."""
        own = [one for one in self.known if one.representation == spec.representation]
        wanted_ms = _mean_service_ms(self.plan(spec, self.table(spec, cost_model), sla_ms=1000.0))
        plans = [self.plan(one, self.table(one, cost_model), sla_ms=1000.0) for one in own or self.known]
        return sorted(plans, key=lambda plan: abs(np.log(_mean_service_ms(plan) / wanted_ms)))[:2]

    def plan(self, spec: ModelSpec, latency: LatencyTable, sla_ms: float) -> Plan:
        """The model alone on this processor."""
        exponents = [self.data.zipf[feature.name] for feature in spec.features if feature.name in self.data.zipf]
        return Plan(
            name=spec.name,
            devices=(Device(name="cpu", kind=LOCAL_CPU),),
            paths=(
                PlanPath(
                    name=spec.name,
                    representation=spec.representation,
                    device="cpu",
                    accuracy=0.79,
                    latency=latency,
                    model=spec.to_object(),
                ),
            ),
            workload=Workload(
                qps=100,
                sla_ms=sla_ms,
                sizes=_SIZES_OF_QUERIES,
                ids=Ids(exponent=float(np.mean(exponents)) if exponents else 0.0),
            ),
            policy=PolicyChoice(name="static"),
        )

    def table(self, spec: ModelSpec, cost_model: CostModel) -> LatencyTable:
        """As a plan gets it."""
        return latency_table(cost_model, spec, self.device, _LARGEST, self.data.zipf)[0]


def _measure(quick: bool) -> Figures:
    study = load_study(QUICKSTART)
    if quick:
        sweep = replace(study.sweep, components=30, milliseconds_per_visit=2, visits=3, whole_models=1)
        study = replace(study, sweep=sweep)
    data = load_study_data(study)
    device = next(one.name for one in study.devices if one.kind == LOCAL_CPU)
    with TemporaryDirectory() as folder:
        workspace = open_workspace(Path(folder) / "study")
        measure_study(study, data, workspace, QuietProgress())
        cost_model = fit_cost_model(study, data, workspace)
        known = validation_models(candidate_models(study, data), study.sweep.whole_models)
        specs = representatives(study, _KINDS, besides=frozenset(spec.name for spec in known))
        setting = _Setting(
            study=study,
            data=data,
            cost_model=cost_model,
            profiles=tuple(ProfileStore(workspace.profiles).load()),
            known=known,
            device=device,
            folder=Path(folder),
        )
        rows = [
            _model(setting, spec, passes=1 if quick else _PASSES, seconds=0.5 if quick else _SECONDS) for spec in specs
        ]
    return {"models": rows, "known": [spec.name for spec in known]}


def _model(setting: _Setting, spec: ModelSpec, *, passes: int, seconds: float) -> Figures:
    cost_model = setting.as_now(spec)
    table = setting.table(spec, cost_model)
    sla_ms = _sla_ms(setting.plan(spec, table, sla_ms=1.0))
    called = setting.plan(spec, table, sla_ms)
    known = setting.known_plans(spec, cost_model)
    turns = [[_serve_known(plan, seconds, seed=7)] for plan in known]
    first = [observe(plan, traces) for plan, traces in zip(known, turns, strict=True)]
    first_qps = _lasting(with_table(called, as_served(table, first)), late_ms_of(first))["qps"]
    store, options = ProfileStore(setting.folder / spec.name), sweep_options(setting.study)
    by_parts = with_measured_components(cost_model, setting.device, store, options)
    components = with_table(called, setting.table(spec, by_parts))
    whole = with_table(called, _whole_table(setting, spec, store, cost_model, table))
    rates = [share * first_qps for share in _SHARES]
    served = []
    for one in range(passes):
        served.append(serve_rising(whole, rates, seconds, seed=100 * one))
        turn = one % len(known)
        turns[turn].append(_serve_known(known[turn], seconds, seed=100 * one + 50))
    beside = [observe(plan, traces) for plan, traces in zip(known, turns, strict=True)]
    served_too = with_table(called, as_served(table, beside))
    late_ms, residual_N = late_ms_of(beside), nearest_to(table, beside).residual_N
    own = observe(called, [trace for trace, _ in served])
    return {
        "model": spec.name,
        "representation": spec.representation,
        "sla_ms": sla_ms,
        "called": asdict(predict_highest(called, rates, served)),
        "predicted": asdict(predict_highest(served_too, rates, served, residual_N, late_ms)),
        "lasting": _lasting(served_too, late_ms),
        "known": [_known_object(one, table.sizes) for one in beside],
        "replayed": asdict(find_highest(called, rates, served)),
        "simulated": {
            "components": predict_highest(components, rates, served).qps,
            "whole": predict_highest(whole, rates, served).qps,
            "fit": predict_highest(with_table(called, own.observed), rates, served, own.residual_N, own.late_ms).qps,
            "replay": queue_logic_highest(called, rates, served),
        },
        "rates": rates,
    }


def _whole_table(
    setting: _Setting, spec: ModelSpec, store: ProfileStore, cost_model: CostModel, predicted: LatencyTable
) -> LatencyTable:
    """The whole model measured, with the scatter and the gap after idleness that its prediction has."""
    options = sweep_options(setting.study)
    measured = WholeModelSweep(specs=(spec,), store=store, zipf=setting.data.zipf, options=options).measure(_SIZES)
    to_mean = cost_model.device(setting.device).scatter.mean_over_label
    mean_ms = np.maximum.accumulate([to_mean * one.latency.p25_ms for one in measured])
    return LatencyTable(
        sizes=tuple(one.batch for one in measured),
        mean_ms=tuple(mean_ms.tolist()),
        spread=predicted.spread,
        sigma=predicted.sigma,
        idle_gap=predicted.idle_gap,
    )


def _sla_ms(plan: Plan) -> float:
    """In whole milliseconds."""
    return max(_LEAST_SLA_MS, float(np.ceil(_SLA_OVER_SERVICE * np.quantile(_service_ms(plan), 0.99))))


def _mean_service_ms(plan: Plan) -> float:
    return float(np.mean(_service_ms(plan)))


def _service_ms(plan: Plan) -> NDArray[np.float64]:
    from serving_sim.paths import service_ms
    from serving_sim.replay import draw_queries

    return service_ms(plan.paths[0].latency, draw_queries(plan, 20_000).size_N)


def _lasting(plan: Plan, late_ms: float) -> Figures:
    """The highest rate of a load without end."""
    lasting = plan.at(sla_ms=plan.workload.sla_ms - late_ms)
    result = find_capacity(lasting, ("static",), queries=_QUERIES, seeds=_SEEDS).policies[0]
    return {"qps": result.max_qps, "low_qps": result.combined_low, "high_qps": result.combined_high}


def _serve_known(plan: Plan, seconds: float, seed: int) -> LiveTrace:
    return serve_known(plan, MS_PER_S / _mean_service_ms(plan), seconds, seed)


def _known_object(beside: ServedBeside, sizes: Sequence[int]) -> Figures:
    slower = dict(zip(map(str, sizes), beside.slower(sizes).tolist(), strict=True))
    return {"model": beside.model, "late_ms": beside.late_ms, "slower": slower}


def parts_of(row: Mapping[str, Any]) -> dict[str, float]:
    """The error of the predicted rate, whole and in parts that multiply to it."""
    predicted, replayed, simulated = row["predicted"]["qps"], row["replayed"]["qps"], row["simulated"]
    steps = {
        "whole": (predicted, replayed),
        "serving": (predicted, row["called"]["qps"]),
        "component": (row["called"]["qps"], simulated["components"]),
        "composition": (simulated["components"], simulated["whole"]),
        "while serving": (simulated["whole"], simulated["fit"]),
        "order": (simulated["fit"], simulated["replay"]),
        "queueing": (simulated["replay"], replayed),
    }
    return {name: value / truth - 1 if truth else float("inf") for name, (value, truth) in steps.items()}


def _describe(report: Mapping[str, Any]) -> list[str]:
    rows = report["models"]
    parts = {row["model"]: parts_of(row) for row in rows}
    short = [
        f"{row['model']}: off by {_part(parts[row['model']]['whole'])}, goal {percent(_GOAL)}; the intervals "
        f"{'overlap' if _overlap(row['predicted'], row['replayed']) else 'do not overlap'}."
        for row in rows
        if abs(parts[row["model"]]["whole"]) > _GOAL
    ]
    short += [
        f"{row['model']}: {row['replayed']['open_ended']} of {len(row['replayed']['found_qps'])} passes held the "
        "SLA at the highest rate served, so that the replayed rate is a lower limit."
        for row in rows
        if row["replayed"]["open_ended"]
    ]
    columns = ("model", "SLA (ms)", "called", "served", "replayed", "error of called", "of served", "lasting load")
    capacities = [
        (
            row["model"],
            f"{row['sla_ms']:g}",
            *(_with_interval(row[name]) for name in ("called", "predicted", "replayed")),
            _off(row["called"]["qps"], row["replayed"]["qps"]),
            _off(row["predicted"]["qps"], row["replayed"]["qps"]),
            _with_interval(row["lasting"]),
        )
        for row in rows
    ]
    names = ("serving", "component", "composition", "while serving", "order", "queueing", "whole")
    known = ", ".join(report["known"])
    size = mean_size(_SIZES_OF_QUERIES)
    return [
        _INTRODUCTION,
        f"Mean size as drawn: {size:.1f} samples. Whole models that the cost model had seen: {known}.",
        "Queries per second, with intervals:",
        table(columns, capacities),
        bullets(_beside(row["model"], known) for row in rows for known in row["known"]),
        "## The error in parts",
        table(("model", *names), [(name, *(_part(found[part]) for part in names)) for name, found in parts.items()]),
        "## What the figures mean",
        _MEANING,
        "## What falls short",
        bullets(short or ["Every goal is met in this run."]),
    ]


def _off(value: float, truth: float) -> str:
    return f"{value / truth - 1:+.1%}" if truth else "no rate held"


def _part(value: float) -> str:
    return f"{value:+.1%}" if np.isfinite(value) else "-"


def _beside(model: str, known: Mapping[str, Any]) -> str:
    slower = ", ".join(f"{value:.2f}" for value in known["slower"].values())
    sizes = ", ".join(known["slower"])
    return (
        f"Beside {model}, {known['model']} was served: {slower} times its prediction at sizes {sizes}, and "
        f"{known['late_ms']:.2f} ms of dispatch."
    )


def _overlap(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    return max(one["low_qps"], other["low_qps"]) <= min(one["high_qps"], other["high_qps"])


def _with_interval(found: Mapping[str, float]) -> str:
    return f"{significant(found['qps'])} ({significant(found['low_qps'])} to {significant(found['high_qps'])})"


BENCHMARK = Benchmark(
    name="capacity",
    title="Highest rate within the SLA: predicted from components, and found by serving",
    measure=_measure,
    describe=_describe,
)

if __name__ == "__main__":
    main(BENCHMARK)
