import pytest
import torch

from profiles.errors import InputError
from representations.build import build_model
from representations.deepfm import DeepFm
from representations.dlrm import Dlrm
from representations.specs import Feature, HybridSpec, TableSpec
from representations.specs.table import TableBackend
from representations.tables.build import build_group, build_table
from representations.tables.group import GroupTable
from representations.tables.torchrec import TorchrecTables
from tests.representations.models import DHE, FUSED, ROBE, TABLE, small_model


def test_a_hybrid_s_table_has_a_back_end_of_its_own() -> None:
    hybrid = HybridSpec(table=TableSpec(dim=3, backend="torchrec"), dhe=DHE)
    model = build_model(small_model(hybrid, interaction="concat"))
    assert isinstance(model.embedding_set[0].get_submodule("table.group"), TorchrecTables)
    assert model.embedding_set(torch.tensor([[1], [29]]))[0].shape == (2, 11)


def test_tables_of_one_back_end_dtype_and_dim_are_one_group() -> None:
    small = TableSpec(dim=4, backend="fbgemm")
    model = build_model(small_model(FUSED, small, TABLE, FUSED, interaction="concat"))
    assert model.embedding_set.group_positions == {"tables_fbgemm_float32_8": (0, 3), "tables_fbgemm_float32_4": (1,)}
    assert "2 tables of 90 rows" in str(model)


def test_rows_are_read_and_written_whatever_the_back_end() -> None:
    model = build_model(small_model(FUSED, TABLE))
    for i, rows in ((0, torch.randn(30, 8)), (1, torch.randn(40, 8))):
        model.embedding_set.write_table(i, rows)
        assert torch.equal(model.embedding_set.read_table(i), rows)
    with pytest.raises(InputError, match="feature 'f0': has no plain table, but RobeEmbedding"):
        build_model(small_model(ROBE)).embedding_set.read_table(0)


@pytest.mark.parametrize("backend", ["torch", "fbgemm", "quantised"])
@pytest.mark.parametrize("with_gradients", [True, False])
def test_float16_rows_are_summed_in_float32(backend: TableBackend, *, with_gradients: bool) -> None:
    table = build_table(Feature(name="f", cardinality=3), TableSpec(dim=4, dtype="float16", backend=backend))
    owner = table.group if isinstance(table, GroupTable) else None
    if owner is not None:
        owner.write_rows(0, torch.full((3, 4), 40_000.0))
    else:
        torch.nn.init.constant_(table.get_parameter("weight"), 40_000.0)
    with torch.set_grad_enabled(with_gradients):
        bags = table(torch.tensor([1, 2, 0]), torch.tensor([0, 2]))
    assert bags[:, 0].tolist() == [80_000, 40_000]


@pytest.mark.parametrize("with_gradients", [True, False])
def test_torchrec_rounds_sums_of_float16_rows_once(*, with_gradients: bool) -> None:
    table = build_table(Feature(name="f", cardinality=100), TableSpec(dim=4, dtype="float16", backend="torchrec"))
    assert isinstance(table, GroupTable)
    for scale, is_finite in ((1.0, True), (40_000.0, False)):
        table.group.write_rows(0, scale * (0.5 + torch.rand(100, 4)))
        exact_D = table.group.read_rows(0).double().sum(0)
        with torch.set_grad_enabled(with_gradients):
            summed_1D = table(torch.arange(100), torch.tensor([0]))
        assert summed_1D.dtype == torch.float32
        assert summed_1D.isfinite().all() == is_finite
        assert not is_finite or ((summed_1D - exact_D).abs() <= 2**-11 * exact_D).all()


def test_an_architecture_builds_its_own_specs_only() -> None:
    with pytest.raises(InputError, match="is no DeepFM but 'dlrm'"):
        DeepFm(small_model(TABLE))
    with pytest.raises(InputError, match="is no DLRM but 'deepfm'"):
        Dlrm(small_model(TABLE, interaction="fm"))


def test_a_group_without_a_grouping_back_end_is_an_error() -> None:
    model = small_model(TABLE)
    with pytest.raises(InputError, match="one of the back ends"):
        build_group(model.features, (TABLE,))
