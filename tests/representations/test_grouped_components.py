import pytest

from profiles.component import make_component
from profiles.counting.traffic import state_bytes
from profiles.errors import InputError
from representations.components import components_of, model_work, work_of
from representations.provider import RecommendationProvider
from representations.specs import HybridSpec, TableSpec
from tests.representations.models import DHE, FUSED, ROBE, TABLE, small_model

Shape = dict[str, int | float | str]
INT8 = TableSpec(dim=8, dtype="int8", backend="quantised")


def test_a_group_is_one_component_of_all_its_tables() -> None:
    (group, *_) = (p for p in components_of(small_model(FUSED, TABLE, FUSED, pooling=2.0), 4) if "tables" in p.path)
    assert group.path == "embeddings.tables_fbgemm_float32_8"
    shape: Shape = {"tables": 2, "rows": 80, "dim": 8, "pooling": 2.0, "zipf": 0.0, "backend": "fbgemm"}
    assert group.component == make_component("embedding_group", 4, shape)


@pytest.mark.parametrize("table", [FUSED, INT8, TableSpec(dim=8, backend="torchrec", dtype="float16")])
def test_a_group_is_built_with_its_exact_bytes(table: TableSpec) -> None:
    spec = small_model(table, TABLE, table, pooling=2.0)
    (group, *_) = (p.component for p in components_of(spec, 4, zipf=1.0) if "tables" in p.path)
    built = RecommendationProvider().build(group, 0)
    assert built.module(*built.args).shape == (4, 16)
    assert work_of(group).parameter_bytes == state_bytes(built.module) == 80 * table.row_bytes
    assert model_work(spec, 4).parameter_bytes == spec.parameter_bytes


def test_a_hybrid_s_grouped_table_has_its_own_place() -> None:
    placed = components_of(small_model(HybridSpec(table=INT8, dhe=DHE), interaction="concat"), 4)
    assert "embeddings.0.table.group" in {one.path for one in placed}


def test_int8_rows_move_fewer_bytes() -> None:
    int8, fp32 = (model_work(small_model(table, table), 20).bytes_moved for table in (INT8, FUSED))
    assert int8 < fp32


def test_more_tables_than_rows_cannot_be_built() -> None:
    shape: Shape = {"tables": 9, "rows": 8, "dim": 8, "pooling": 1.0, "zipf": 0.0, "backend": "fbgemm"}
    with pytest.raises(InputError, match="9 tables need as many rows, but there are 8"):
        RecommendationProvider().build(make_component("embedding_group", 1, shape), 0)


def test_the_shared_array_counts_once() -> None:
    spec = small_model(ROBE, ROBE, ROBE)
    assert model_work(spec, 2).parameter_bytes == spec.parameter_bytes
    assert spec.embedding_bytes == 101 * 4 + 24


def test_a_single_table_needs_torch() -> None:
    shape: Shape = {"rows": 8, "dim": 8, "pooling": 1.0, "zipf": 0.0, "backend": "fbgemm"}
    with pytest.raises(InputError, match="embedding backend: unknown name 'fbgemm'"):
        RecommendationProvider().build(make_component("embedding", 1, shape), 0)
