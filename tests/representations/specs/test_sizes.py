"""Sizes held against the derived ones of the published configurations."""

import math

import pytest

from representations.presets import get_preset
from representations.specs import (
    EmbeddingSpec,
    Feature,
    QuotientRemainderSpec,
    TableSpec,
    TensorTrainSpec,
    compressed_robe,
    mixed_dimensions,
)

KAGGLE, TERABYTE_10M, TERABYTE_40M = (
    get_preset(f"dlrm-{name}").features for name in ("kaggle", "terabyte-10m", "terabyte-40m")
)


def total(features: tuple[Feature, ...], specs: tuple[EmbeddingSpec, ...]) -> int:
    return sum(spec.parameter_bytes(feature) for feature, spec in zip(features, specs, strict=True))


@pytest.mark.parametrize(("collisions", "megabytes"), [(4, 540), (60, 36.1)])
def test_quotient_remainder_on_kaggle(collisions: int, megabytes: float) -> None:
    spec = QuotientRemainderSpec(dim=16, collisions=collisions)
    assert float(f"{total(KAGGLE, (spec,) * 26) / 1e6:.3g}") == megabytes


@pytest.mark.parametrize(
    ("features", "dim", "temperature", "megabytes"), [(KAGGLE, 16, 0.2, 137.7), (TERABYTE_10M, 64, 0.3, 201.2)]
)
def test_mixed_dimensions(features: tuple[Feature, ...], dim: int, temperature: float, megabytes: float) -> None:
    specs = mixed_dimensions(features, dim=dim, temperature=temperature)
    assert round(total(features, specs) / 1e6, 1) == megabytes


@pytest.mark.parametrize(("rank", "compression"), [(8, 222), (16, 188), (32, 118), (64, 48)])
def test_tensor_trains_for_the_seven_largest_tables_of_kaggle(rank: int, compression: int) -> None:
    largest = sorted(feature.cardinality for feature in KAGGLE)[-7:]
    train, table = TensorTrainSpec(dim=16, rank=rank), TableSpec(dim=16)
    specs = tuple(train if feature.cardinality in largest else table for feature in KAGGLE)
    assert train.q == (2, 2, 4)
    assert total(KAGGLE, (table,) * 26) / total(KAGGLE, specs) == pytest.approx(compression, abs=0.6)


def test_a_thousandth_of_terabyte_40m() -> None:
    robe = compressed_robe(TERABYTE_40M, dim=128)
    assert round(robe.shared_bytes / 1e6, 1) == 96.1


@pytest.mark.parametrize(("dtype", "row_bytes"), [("float16", 128), ("int8", 68)])
def test_rows_of_fewer_bits(dtype: str, row_bytes: int) -> None:
    spec = TableSpec(dim=64, dtype=dtype, backend="quantised")  # type: ignore[arg-type]  # from a parameter list
    rows = sum(feature.cardinality for feature in TERABYTE_10M)
    assert total(TERABYTE_10M, (spec,) * 26) == rows * row_bytes


def test_the_presets_have_their_published_bytes() -> None:
    assert get_preset("dlrm-kaggle").embedding_bytes == 2_160_804_928
    assert get_preset("dlrm-terabyte-10m").embedding_bytes == 12_576_332_032
    assert get_preset("dlrm-terabyte-40m").embedding_bytes == 96_136_908_288


def test_chosen_row_factors_waste_little() -> None:
    for rows in (1, 2, 27, 1000, 142_572, 10_131_227, 2**40):
        factors = TensorTrainSpec(dim=8).p(Feature(name="f", cardinality=rows))
        assert rows <= math.prod(factors) <= rows * (1 + 3 * rows ** (-1 / 3))
