"""A space by groups of features over three features, small enough to be priced whole, and a device by its peaks."""

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.composition import CostModel
from planner.search.cost_columns import CostColumns, JudgedDevice
from planner.search.search_space import SearchSpace, search_space
from planner.study import CardinalityBounds, GroupSection, ModelSection, SpaceSection
from profiles.hardware import get_hardware
from representations.components import work_of
from representations.specs import Feature

FEATURES = (
    Feature(name="airport", cardinality=300),
    Feature(name="carrier", cardinality=14),
    Feature(name="tail", cardinality=4_000),
)
LARGE = GroupSection(
    name="large",
    cardinality=CardinalityBounds(min=1_000),
    representation=("table", "dhe", "hybrid"),
    kept_rows=(1.0, 0.25),
    kept_by=("hash", "frequency"),
    dtype=("float32", "int8"),
    dhe_k=(8, 32),
    dhe_width=(16,),
)
SECTION = SpaceSection(dim=(4, 8), groups=(LARGE, GroupSection(name="small", representation=("table",))))
EVERYTHING = GroupSection(
    representation=("table", "dhe", "hybrid", "quotient-remainder", "mixed-dimension", "tensor-train"), each=True
)


def make_space(section: SpaceSection = SECTION, *, dense_features: int = 5) -> SearchSpace:
    return search_space(section, FEATURES, dense_features, ModelSection())


def make_cost_model(*names: str) -> CostModel:
    kinds = names or ("v100",)
    return CostModel(models={name: RooflineDeviceModel(hardware=get_hardware(name), work=work_of) for name in kinds})


def make_pricer(*wanted: str, price_per_hour: float | None = None) -> CostColumns:
    device = JudgedDevice(name="v100", memory_bytes=10**6, price_per_hour=price_per_hour)
    return CostColumns(cost_model=make_cost_model(), devices={"v100": device}, device="v100", batch=64, wanted=wanted)
