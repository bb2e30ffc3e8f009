import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

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


@given(st.integers(-20, 16), st.integers(-24, 15), st.integers(0, 2**31))
def test_int8_rows_keep_their_bound_whatever_the_range(size: int, span: int, seed: int) -> None:
    group, generator = tables("int8", 16), torch.Generator().manual_seed(seed)
    rows = (torch.rand(9, 16, generator=generator) * 2.0**span - 2.0**size).clamp_min(-65504)
    group.write_rows(1, rows)
    reach = (rows.amax(1) - rows.amin(1).half().float()).clamp_min(0)
    scale = reach / 255 * (1 + 2**-10) + 2**-24
    bound = torch.maximum(scale / 2, rows.amin(1).abs() * 2**-11 + 2**-25)
    assert ((group.read_rows(1) - rows).abs().amax(1) <= bound + rows.abs().amax(1) * 2**-22).all()


@pytest.mark.parametrize(("dtype", "value"), [("int8", -70_000.0), ("int8", 1e8), ("float16", 70_000.0)])
def test_numbers_beyond_16_bit_floats_are_refused(dtype: str, value: float) -> None:
    rows = torch.zeros(9, 4)
    rows[2, 1] = value
    with pytest.raises(InputError, match=f"feature 'b': row 2: holds numbers that {dtype} rows cannot"):
        tables(dtype, 4).write_rows(1, rows)


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
