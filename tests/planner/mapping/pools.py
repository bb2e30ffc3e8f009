"""Candidates on the published models, and estimated devices to map them to."""

from collections.abc import Sequence

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.composition import CostModel
from planner.mapping.candidate import TrainedCandidate
from planner.study.device import DeviceSection
from profiles.hardware import Hardware
from representations.components import work_of
from representations.presets import get_preset
from representations.specs import DheSpec, EmbeddingSpec, Feature, HybridSpec, ModelSpec, TableSpec
from serving_sim.plan import Sizes, Workload

WORKLOAD = Workload(qps=1000.0, sla_ms=200.0, sizes=Sizes(mean=128.0, maximum=4096))
KAGGLE = get_preset("dlrm-kaggle")
TERABYTE = get_preset("dlrm-terabyte-10m")
# A server's processor: not in the catalogue, which describes accelerators.
XEON = Hardware(
    name="xeon",
    title="a server's processor",
    family="cpu",
    memory_bytes=64 * 10**9,
    bandwidth_bytes_per_s=80e9,
    peak_flops_per_s={"float32": 0.8e12},
    launch_overhead_s=2e-6,
)


def with_embeddings(base: ModelSpec, name: str, embeddings: Sequence[EmbeddingSpec]) -> ModelSpec:
    return ModelSpec(
        name=name,
        dense_features=base.dense_features,
        features=base.features,
        embeddings=tuple(embeddings),
        bottom_mlp=base.bottom_mlp,
        top_mlp=base.top_mlp,
        interaction="concat",
    )


def tables(base: ModelSpec, dim: int, accuracy: float = 0.780) -> TrainedCandidate:
    spec = with_embeddings(base, f"table-{dim}", [TableSpec(dim=dim)] * len(base.features))
    return TrainedCandidate(name=spec.name, model=spec, accuracy=accuracy)


def dhes(
    base: ModelSpec, dim: int, accuracy: float = 0.781, k: int = 1024, widths: tuple[int, ...] = (256, 128)
) -> TrainedCandidate:
    spec = with_embeddings(base, f"dhe-{dim}-k{k}", [DheSpec(dim=dim, k=k, widths=widths)] * len(base.features))
    return TrainedCandidate(name=spec.name, model=spec, accuracy=accuracy)


def hybrids(base: ModelSpec, dim: int, accuracy: float = 0.782, k: int = 1024) -> TrainedCandidate:
    both = HybridSpec(table=TableSpec(dim=dim), dhe=DheSpec(dim=dim, k=k, widths=(512, 256)))
    spec = with_embeddings(base, f"hybrid-{dim}-k{k}", [both] * len(base.features))
    return TrainedCandidate(name=spec.name, model=spec, accuracy=accuracy)


def selects(base: ModelSpec, dim: int, accuracy: float) -> TrainedCandidate:
    largest = sorted(feature.cardinality for feature in base.features)[-3]
    choices: list[EmbeddingSpec] = [
        DheSpec(dim=dim, k=256) if feature.cardinality >= largest else TableSpec(dim=dim) for feature in base.features
    ]
    spec = with_embeddings(base, f"select-{dim}", choices)
    return TrainedCandidate(name=spec.name, model=spec, accuracy=accuracy)


def device(name: str, memory: str) -> DeviceSection:
    """A budget; `cpu` is priced as the server processor, `gpu` as a V100."""
    return DeviceSection(name=name, kind="v100", memory=memory)


def cost_model() -> CostModel:
    xeon = RooflineDeviceModel(hardware=XEON, work=work_of)
    return CostModel(
        models={"cpu": xeon, "gpu": RooflineDeviceModel(hardware=device("gpu", "1 GB").hardware, work=work_of)}
    )


def tiny_base() -> ModelSpec:
    features = (Feature(name="a", cardinality=10_000), Feature(name="b", cardinality=100))
    return ModelSpec(
        name="tiny",
        dense_features=4,
        features=features,
        embeddings=(TableSpec(dim=8), TableSpec(dim=8)),
        bottom_mlp=(16, 8),
        top_mlp=(16, 1),
    )


def large_base() -> ModelSpec:
    """768 MB of tables at 16 floats a row."""
    return ModelSpec(
        name="large",
        dense_features=4,
        features=(Feature(name="a", cardinality=12_000_000),),
        embeddings=(TableSpec(dim=16),),
        bottom_mlp=(16,),
        top_mlp=(16, 1),
    )
