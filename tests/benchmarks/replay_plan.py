"""The plan that the benchmarks of replay serve: the quickstart study's, or one of its kinds of models by hand."""

from pathlib import Path

from planner.pipeline.data import load_study_data
from planner.search import build_candidate, enumerate_choices
from planner.study import Study, load_study
from profiles.hardware import LOCAL_CPU
from representations.specs import ModelSpec
from serving_sim.plan import Arrivals, Device, LatencyTable, Plan, PolicyChoice, Sizes, Workload, load_plan
from serving_sim.plan import Path as PlanPath

__all__ = ["QUICKSTART", "representatives", "stand_in_plan", "wanted_plan"]

ROOT = Path(__file__).parent.parent.parent
QUICKSTART = ROOT / "docs" / "examples" / "quickstart.toml"
PLANNED = ROOT / "out" / "quickstart" / "plan.json"
_ACCURACY = {"table": 0.788, "dhe": 0.789, "hybrid": 0.790}


def wanted_plan(*, quick: bool) -> tuple[Plan, str]:
    """The plan of `make demo` where it is there and not `quick`; and which plan it is."""
    if PLANNED.exists() and not quick:
        return load_plan(PLANNED), "out/quickstart/plan.json, as `make demo` wrote it"
    return stand_in_plan(), "a stand-in for the quickstart plan: a table, a DHE and a hybrid of its search space"


def representatives(study: Study, kinds: tuple[str, ...], *, besides: frozenset[str] = frozenset()) -> list[ModelSpec]:
    """One candidate of the study for each kind of representation: the largest that is not among those named."""
    data = load_study_data(study)
    models = [
        build_candidate(choice, data.features, data.dense_features, study.model)
        for choice in enumerate_choices(study.search.space, 400, study.seed)
    ]
    return [
        max(
            (model for model in models if model.representation == kind and model.name not in besides),
            key=lambda model: (model.parameter_bytes, model.name),
        )
        for kind in kinds
    ]


def stand_in_plan() -> Plan:
    """Three models of the quickstart's search space on this processor, with tables that are guesses."""
    study = load_study(QUICKSTART)
    models = representatives(study, tuple(_ACCURACY))
    guesses = {"table": (0.4, 3.0), "dhe": (1.0, 20.0), "hybrid": (1.2, 25.0)}
    paths = tuple(
        PlanPath(
            name=f"{model.representation}@cpu",
            representation=model.representation,
            device="cpu",
            accuracy=_ACCURACY[model.representation],
            latency=LatencyTable(sizes=(1, 4096), mean_ms=guesses[model.representation]),
            model=model.to_object(),
        )
        for model in models
    )
    return Plan(
        name="stand-in",
        devices=(Device(name="cpu", kind=LOCAL_CPU),),
        paths=paths,
        workload=Workload(
            qps=400,
            sla_ms=10,
            arrivals=Arrivals(process="trace", source="azure-conversation"),
            sizes=Sizes(mean=128, sigma=1.0, maximum=4096),
        ),
        policy=PolicyChoice(name="mp-rec"),
    )
