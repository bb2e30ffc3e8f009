from pathlib import Path

from planner.cost_model.composition import CostModel
from planner.cost_model.model import fit_device_model
from planner.cost_model.noise import remeasure_with
from planner.cost_model.validation import validate
from planner.cost_model.whole_models import WholeModelSweep
from planner.cost_model.whole_sums import context_of
from profiles.executors.in_process import InProcessExecutor
from profiles.store import ProfileStore
from profiles.sweep import sweep
from profiles.sweep_options import SweepOptions
from representations.components import components_of, work_of
from representations.provider import RecommendationProvider
from representations.specs import DheSpec, EmbeddingSpec, Feature, ModelSpec, TableSpec

QUICK = SweepOptions(seconds_per_visit=0.002, max_seconds_per_visit=0.05, least_gap_s=0.0)


def model_of(name: str, embedding: EmbeddingSpec) -> ModelSpec:
    return ModelSpec(
        name=name,
        dense_features=2,
        features=(Feature(name="a", cardinality=500),),
        embeddings=(embedding,),
        bottom_mlp=(8,),
        top_mlp=(8, 1),
    )


def test_a_sweep_of_this_machine_predicts_and_validates_whole_models(tmp_path: Path) -> None:
    specs = (model_of("table", TableSpec(dim=8)), model_of("dhe", DheSpec(dim=8, k=16, widths=(16,))))
    store = ProfileStore(tmp_path)
    components = {placed.component for spec in specs for n in (1, 16) for placed in components_of(spec, n)}
    sweep(tuple(components), RecommendationProvider(), store, options=QUICK)
    measured = WholeModelSweep(specs=specs, store=store, options=QUICK).measure((16, 64))
    remeasure = remeasure_with(RecommendationProvider(), InProcessExecutor(), QUICK)
    report = validate(fit_device_model(store.load(), work_of), measured, remeasure=remeasure)
    assert report.composed
    assert report.composed.errors.rows == 4
    assert report.noise_floor.source == "a second measurement"
    model = fit_device_model(store.load(), work_of)
    cost_model = CostModel(models={"cpu": model}, contexts={"cpu": context_of(model, measured)})
    latency = cost_model.predict_model(specs[1], (16, 100), "cpu")
    assert latency.provenance == "predicted"
    assert 0 < latency.low_ms[0] < latency.mean_ms[0] < latency.high_ms[0]
