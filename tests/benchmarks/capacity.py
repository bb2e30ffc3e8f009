"""The rate that models never profiled whole hold an SLA at: predicted from their components, beside a real search."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
from representations.specs import ModelSpec
from serving_sim.capacity import find_capacity
from serving_sim.plan import Device, Ids, LatencyTable, Plan, PolicyChoice, Sizes, Workload
from serving_sim.plan import Path as PlanPath
from serving_sim.replay import LiveTrace, calibrate
from serving_sim.sizes import mean_size
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import bullets, percent, significant, table
from tests.benchmarks.measured_components import with_measured_components
from tests.benchmarks.replay_plan import QUICKSTART, representatives
from tests.benchmarks.rising_load import HighestRate, find_highest, serve_rising
from tests.benchmarks.served_before import ServedBefore, serve_known

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
_SHARES = (0.2, 0.4, 0.6, 0.75, 0.9, 1.05, 1.2, 1.4)
_GOAL = 0.10
# Every so manyth model that was measured whole is timed anew before each prediction.
_OF_KNOWN = 3
_QUERIES, _SEEDS = 20_000, 5

_INTRODUCTION = f"""\
Three models of the quickstart's search space, of which no whole model was measured before the prediction was made: the
cost model knows components of the study's candidates, and what other models cost as a whole. From these come a latency
table and, by simulation, the highest Poisson rate at which p99 stays within the SLA: {_SLA_OVER_SERVICE:g} times what
the model is predicted to take for a query of the 99th percentile's size (lognormal sizes, mean {_MEAN:g}, sigma 1, at
most {_LARGEST}), and {_LEAST_SLA_MS:g} ms at least. How much slower than their labels calls are on this machine, at the
time, is asked of known models just before: timed by themselves for **called**, and one of the same representation
served as well for **served**, which says what dispatch, pauses and the neighbours cost while serving. Then each model
is served on this machine at rising load."""
_MEANING = """\
- **called**: predicted from component profiles, and how much slower than their labels known models were when they were
  called one time after the other just before. **served**: and how much slower a known model of the representation was,
  size by size, when it was served just before, with the scatter, the gap after idleness and the dispatch seen then. No
  figure of the model itself is in either. Intervals join the queries drawn and the error bars of the table.
- **replayed**: where p99, the median of the halves (seconds by turns) of each pass of rising load, crosses the SLA,
  taken as rising with the rate (isotonic fit); 95 % interval by drawing halves anew. A half is two seconds at each
  rate, so that one stall of the machine is its p99.
- The error in parts, each step a simulation with one thing more of what happened: **serving**: what the known model's
  serving changed; **component**: the model's own components measured, beside predicted; **composition**: the whole
  model measured, beside the sum; **drift**: the service times of the replay itself, beside those measured just before;
  **queueing**: the replay, beside a simulation with its service times. They multiply to the whole.
- At smaller SLAs, where queues are short, capacity says more of single bad moments than of service times. Runs made
  before, on the same day: at 15 ms for all, -5.5 % for the table, +54 % for the DHE, and no rate at which the hybrid
  held; at 3 times the service (7, 23 and 30 ms), and read from the lowest rate up, +240 %, +11 % and +9 %. Pauses known
  to make calls slower, calls timed just before each prediction, and the rising fit came in between.
- In the last run before a known model was served as well, **called** was off by +42 %, -3 % and -0 % (the parts of the
  last: +52 % composition, -26 % drift). Of three runs in which it was, **called** was off by +31 to +278 %; rates were
  served from 0.3 of what calls one after the other allow, which often was above what could be served at all. What
  **served** said, and the halves' own rates (0: below the lowest served): table 600 (SLA 5 ms; 0, 0, 0, 510), 1,091
  (1,241, 1,244, 1,219, 810) and 1,035 (796, 0, 714, 0); DHE 294 (267, 323, 281, 217), 284 (223, 0, 0, 285) and 237 (0,
  0, 0, 258); hybrid 192 (223, 168, 259, 186), 207 (242, 173, 160, 0) and 198 (232, 198, 161, 204). Since then rates
  start at 0.2 of the prediction, the median of the halves is taken, and no SLA is below 10 ms.
- In the first run with these rules (2026-12-01) two halves of the DHE held the SLA at 1.4 times the prediction and not
  at 0.2 of it. So p99 does not simply rise with the rate on this virtual machine: at low rates something besides queues
  makes calls late, probably that an idle core is given away, which neither the fit of what was replayed nor any
  simulation here knows.
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

    def serve_before(self, spec: ModelSpec, cost_model: CostModel, seconds: float) -> ServedBefore:
        """A known model of the same representation, or the first, served now."""
        own = [one for one in self.known if one.representation == spec.representation]
        known = (own or list(self.known))[0]
        plan = self.plan(known, self.table(known, cost_model), sla_ms=1000.0)
        return serve_known(plan, 1000.0 / _mean_service_ms(plan), seconds, seed=7)

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
        rows = [_model(setting, spec, passes=1 if quick else 2, seconds=0.5 if quick else 4.0) for spec in specs]
    return {"models": rows, "known": [spec.name for spec in known]}


def _model(setting: _Setting, spec: ModelSpec, *, passes: int, seconds: float) -> Figures:
    cost_model = setting.as_now(spec)
    table = setting.table(spec, cost_model)
    sla_ms = _sla_ms(setting.plan(spec, table, sla_ms=1.0))
    called = _found(setting.plan(spec, table, sla_ms))
    before = setting.serve_before(spec, cost_model, seconds)
    as_served = before.applied_to(table)
    served_too = _found(setting.plan(spec, as_served, sla_ms - before.late_ms))
    store, options = ProfileStore(setting.folder / spec.name), sweep_options(setting.study)
    by_parts = with_measured_components(cost_model, setting.device, store, options)
    components = setting.plan(spec, setting.table(spec, by_parts), sla_ms)
    whole = setting.plan(spec, _whole_table(setting, spec, store, cost_model, table), sla_ms)
    rates = [share * served_too["qps"] for share in _SHARES]
    served = [serve_rising(whole, rates, seconds, seed=100 * one) for one in range(passes)]
    highest = find_highest(whole, rates, served)
    replayed = _calibrated(whole, served[0])
    return {
        "model": spec.name,
        "representation": spec.representation,
        "sla_ms": sla_ms,
        "called": called,
        "predicted": served_too,
        "served_before": {"model": before.model, "late_ms": before.late_ms, "slower": _slower(as_served, table)},
        "replayed": _object(highest),
        "simulated": {
            "components": _capacity_qps(components),
            "whole": _capacity_qps(whole),
            "replay": _capacity_qps(replayed),
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


def _calibrated(plan: Plan, served: tuple[LiveTrace, Any]) -> Plan:
    """The plan with the service times of a pass."""
    trace, _ = served
    return calibrate(plan, trace, np.ones(len(trace.queries), dtype=np.bool_)).plan


def _found(plan: Plan) -> Figures:
    result = find_capacity(plan, ("static",), queries=_QUERIES, seeds=_SEEDS).policies[0]
    return {"qps": result.max_qps, "low": result.combined_low, "high": result.combined_high}


def _slower(observed: LatencyTable, tabled: LatencyTable) -> dict[str, float]:
    pairs = zip(observed.mean_ms, tabled.mean_ms, strict=True)
    return {str(size): ours / theirs for size, (ours, theirs) in zip(tabled.sizes, pairs, strict=True)}


def _capacity_qps(plan: Plan) -> float:
    return find_capacity(plan, ("static",), queries=_QUERIES, seeds=2, table_errors=False).policies[0].max_qps


def _object(found: HighestRate) -> Figures:
    return {
        "qps": found.qps,
        "low": found.low_qps,
        "high": found.high_qps,
        "found": list(found.found_qps),
        "open_ended": found.open_ended,
    }


def parts_of(row: Mapping[str, Any]) -> dict[str, float]:
    """The error of the predicted rate, whole and in parts that multiply to it."""
    predicted, replayed, simulated = row["predicted"]["qps"], row["replayed"]["qps"], row["simulated"]
    steps = {
        "whole": (predicted, replayed),
        "serving": (predicted, row["called"]["qps"]),
        "component": (row["called"]["qps"], simulated["components"]),
        "composition": (simulated["components"], simulated["whole"]),
        "drift": (simulated["whole"], simulated["replay"]),
        "queueing": (simulated["replay"], replayed),
    }
    return {name: value / truth - 1 if truth else float("inf") for name, (value, truth) in steps.items()}


def _describe(report: Mapping[str, Any]) -> list[str]:
    rows = report["models"]
    parts = {row["model"]: parts_of(row) for row in rows}
    short = [
        f"{name}: off by {_part(found['whole'])}, goal {percent(_GOAL)}."
        for name, found in parts.items()
        if abs(found["whole"]) > _GOAL
    ]
    short += [
        f"{row['model']}: {row['replayed']['open_ended']} of {len(row['replayed']['found'])} halves of passes held the "
        "SLA at the highest rate served, so that the replayed rate is a lower limit."
        for row in rows
        if row["replayed"]["open_ended"]
    ]
    columns = ("model", "SLA (ms)", "called", "served", "replayed", "error of called", "of served")
    capacities = [
        (
            row["model"],
            f"{row['sla_ms']:g}",
            *(_with_interval(row[name]) for name in ("called", "predicted", "replayed")),
            _off(row["called"]["qps"], row["replayed"]["qps"]),
            _off(row["predicted"]["qps"], row["replayed"]["qps"]),
        )
        for row in rows
    ]
    names = ("serving", "component", "composition", "drift", "queueing", "whole")
    known = ", ".join(report["known"])
    size = mean_size(_SIZES_OF_QUERIES)
    return [
        _INTRODUCTION,
        f"Mean size as drawn: {size:.1f} samples. Whole models that the cost model had seen: {known}.",
        "Queries per second, with intervals:",
        table(columns, capacities),
        bullets(_before(row) for row in rows),
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


def _before(row: Mapping[str, Any]) -> str:
    known = row["served_before"]
    slower = ", ".join(f"{value:.2f}" for value in known["slower"].values())
    sizes = ", ".join(known["slower"])
    return (
        f"Before {row['model']}, {known['model']} was served: {slower} times its prediction at sizes {sizes}, and "
        f"{known['late_ms']:.2f} ms of dispatch."
    )


def _with_interval(found: Mapping[str, float]) -> str:
    return f"{significant(found['qps'])} ({significant(found['low'])} to {significant(found['high'])})"


BENCHMARK = Benchmark(
    name="capacity",
    title="Highest rate within the SLA: predicted from components, and found by serving",
    measure=_measure,
    describe=_describe,
)

if __name__ == "__main__":
    main(BENCHMARK)
