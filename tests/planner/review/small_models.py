"""A model of a few tables, and devices whose latencies follow a roofline."""

from dataclasses import replace

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.model import fit_device_model
from planner.review.latencies import SourcedModel
from planner.review.pricing import ModelReview, review_model
from planner.review.reviewed_device import ReviewedDeviceModel
from planner.review.subject import Subject, subject_of_spec
from planner.study import DeviceSection
from representations.components import components_of, work_of
from representations.specs import DheSpec, Feature, ModelSpec, TableSpec
from tests.planner.cost_model.synthetic import profiles_of

BATCH = 64
SPEC = ModelSpec(
    name="small",
    dense_features=4,
    features=(Feature(name="a", cardinality=1000), Feature(name="b", cardinality=50)),
    embeddings=(TableSpec(dim=8), TableSpec(dim=8)),
    bottom_mlp=(16, 8),
    top_mlp=(16, 1),
)
DHE = replace(SPEC, name="dhe", embeddings=(DheSpec(dim=8, k=16, widths=(8,)), TableSpec(dim=8)))
CPU = DeviceSection(name="local-cpu", price_per_hour=0.36)
GPU = DeviceSection(name="v100", kind="v100", price_per_hour=3.6)


def measured_model(*specs: ModelSpec) -> SourcedModel:
    """Every component at the batch was measured."""
    components = {one.component for spec in specs for one in components_of(spec, BATCH)}
    rows = profiles_of(sorted(components, key=lambda one: one.spec()))
    fitted = fit_device_model(rows, work_of)
    return SourcedModel(model=ReviewedDeviceModel(fitted=fitted, power_w=100.0), source="measured now")


def published_model() -> SourcedModel:
    return SourcedModel(model=RooflineDeviceModel(hardware=GPU.hardware, work=work_of), source="estimated")


def review_of(spec: ModelSpec = SPEC, *devices: DeviceSection, subject: Subject | None = None) -> ModelReview:
    models = {CPU.name: measured_model(SPEC, DHE), GPU.name: published_model()}
    return review_model(subject or subject_of_spec(spec), BATCH, devices or (CPU, GPU), models)
