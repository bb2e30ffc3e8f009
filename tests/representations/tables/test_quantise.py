import pytest
import torch

from profiles.errors import InputError
from representations.build import build_model
from representations.presets import get_preset
from representations.specs import Feature, TableSpec
from representations.tables.build import build_group
from representations.tables.quantise import quantise_model
from representations.tables.quantised import QuantisedTables
from representations.target import random_inputs
from tests.representations.models import DHE, FUSED, PRODUCT, TABLE, small_model

FEATURES = (Feature(name="a", cardinality=30), Feature(name="b", cardinality=9))


def tables(dtype: str, dim: int) -> QuantisedTables:
    torch.manual_seed(0)
    spec = TableSpec(dim=dim, dtype=dtype, backend="quantised")  # type: ignore[arg-type]  # from a parameter list
    return QuantisedTables(FEATURES, (spec, spec))


@pytest.mark.parametrize(("dtype", "dim"), [("int8", 8), ("int8", 3), ("float16", 5)])
def test_the_kernel_reads_what_was_written(dtype: str, dim: int) -> None:
    group = tables(dtype, dim)
    ids = torch.arange(9)
    wanted = torch.cat((group.read_rows(0)[ids] + group.read_rows(0)[ids + 20], group.read_rows(1)[ids]), dim=1)
    bags = [(torch.stack((ids, ids + 20), dim=1).flatten(), 2 * ids), (ids,)]
    assert torch.allclose(group(bags), wanted, atol=1e-4)
    assert group.weight.numel() == sum(TableSpec.parameter_bytes(group.specs[0], f) for f in FEATURES)


@pytest.mark.parametrize(("dtype", "steps"), [("int8", 1.01 / 255 / 2), ("float16", 2**-11)])
def test_rounding_is_within_half_a_step_of_each_rows_range(dtype: str, steps: float) -> None:
    group = tables(dtype, 16)
    rows = torch.randn(30, 16) * torch.logspace(-3, 1, 30)[:, None]
    group.write_rows(0, rows)
    span = rows.amax(1) - rows.amin(1) if dtype == "int8" else rows.abs().amax(1)
    slack = rows.abs().amax(1) * 2**-10 + 255 * 2**-25
    assert ((group.read_rows(0) - rows).abs().amax(1) <= steps * span + slack).all()


def test_equal_numbers_in_a_row_survive() -> None:
    group = tables("int8", 4)
    group.write_rows(1, torch.full((9, 4), -0.5))
    assert torch.equal(group.read_rows(1), torch.full((9, 4), -0.5))


def test_a_quantised_model_is_a_quarter_of_its_tables_and_close() -> None:
    model = build_model(get_preset("dlrm-flights")).eval()
    small = quantise_model(model)
    inputs = random_inputs(model.spec, 64)
    with torch.inference_mode():
        assert torch.allclose(small(*inputs), model(*inputs), atol=2e-3)
    assert small.spec.embedding_bytes == model.spec.embedding_bytes * 20 // 64


def test_only_plain_tables_are_quantised_and_all_else_is_equal() -> None:
    model = build_model(small_model(TABLE, DHE, FUSED, PRODUCT), 7).eval()
    small, inputs = quantise_model(model, "float16"), random_inputs(model.spec, 8)
    with torch.inference_mode():
        assert torch.allclose(small(*inputs), model(*inputs), atol=1e-3)
    assert [e.kind for e in small.spec.embeddings] == [e.kind for e in model.spec.embeddings]
    with pytest.raises(InputError, match="has no table to quantise"):
        quantise_model(build_model(small_model(DHE)))


@pytest.mark.parametrize("value", [-1, -2, 9, 2**40])
def test_an_id_out_of_range_is_refused_by_the_kernel(value: int) -> None:
    with pytest.raises(RuntimeError, match=r"idx|out of bounds"):
        tables("int8", 8)([(torch.tensor([0]),), (torch.tensor([value]),)])
    with pytest.raises(RuntimeError, match=r"idx|out of bounds"):
        tables("float16", 8)([(torch.tensor([0]),), (torch.tensor([value]),)])


def test_a_group_needs_tables_alike() -> None:
    with pytest.raises(InputError, match="a group needs one dtype and one of the back ends"):
        build_group(FEATURES, (TABLE, FUSED))
