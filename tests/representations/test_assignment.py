import pytest

from profiles.errors import InputError
from representations.assignment import CompressionOptions, assign_embeddings, with_representation
from representations.presets import get_preset
from representations.specs import (
    DheSpec,
    HybridSpec,
    MixedDimensionSpec,
    QuotientRemainderSpec,
    RobeSpec,
    TableSpec,
)

FLIGHTS = get_preset("dlrm-flights")


def test_select_hashes_the_largest_features() -> None:
    embeddings = assign_embeddings(FLIGHTS.features, "select", dim=8, selected=2)
    hashed = {f.name for f, e in zip(FLIGHTS.features, embeddings, strict=True) if isinstance(e, DheSpec)}
    assert hashed == {"tailnum", "flight"}


@pytest.mark.parametrize(
    ("representation", "width"),
    [
        ("table", 8),
        ("dhe", 8),
        ("select", 8),
        ("hybrid", 16),
        ("quotient-remainder", 8),
        ("mixed-dimension", 8),
        ("tensor-train", 8),
        ("robe", 8),
    ],
)
def test_the_bottom_mlp_follows_the_width(representation: str, width: int) -> None:
    spec = with_representation(FLIGHTS, representation, dim=8)  # type: ignore[arg-type]  # from a parameter list
    assert spec.representation == representation
    assert spec.bottom_mlp == (64, width)


def test_a_hybrid_joins_both_halves() -> None:
    dhe = DheSpec(dim=99, k=32)
    (embedding, *_) = assign_embeddings(FLIGHTS.features, "hybrid", dim=4, dhe=dhe)
    assert embedding == HybridSpec(table=TableSpec(dim=4), dhe=DheSpec(dim=4, k=32))


def test_tensor_trains_take_the_largest_tables_that_they_make_smaller() -> None:
    embeddings = assign_embeddings(FLIGHTS.features, "tensor-train", dim=8, options=CompressionOptions(rank=4))
    trains = {f.name for f, e in zip(FLIGHTS.features, embeddings, strict=True) if e.kind == "tensor-train"}
    assert trains == {"tailnum", "flight", "dest", "minute", "day", "hour"}


def test_options_reach_the_specs() -> None:
    options = CompressionOptions(
        quotient_remainder=QuotientRemainderSpec(dim=1, collisions=9, operation="concat"), temperature=0, compression=2
    )
    rows = sum(feature.cardinality for feature in FLIGHTS.features)
    first = {
        name: assign_embeddings(FLIGHTS.features, name, dim=8, options=options)[0]
        for name in ("quotient-remainder", "mixed-dimension", "robe")
    }
    assert first["quotient-remainder"] == QuotientRemainderSpec(dim=8, collisions=9, operation="concat")
    assert first["mixed-dimension"] == MixedDimensionSpec(dim=8, inner_dim=8)
    assert first["robe"] == RobeSpec(dim=8, floats=rows * 4)


def test_bad_choices_say_why() -> None:
    with pytest.raises(InputError, match="representation: unknown name 'tables'"):
        assign_embeddings(FLIGHTS.features, "tables", dim=4)  # type: ignore[arg-type]  # what a user may type
    with pytest.raises(InputError, match="select: must give a DHE to 1 to 8 features, but got 9"):
        assign_embeddings(FLIGHTS.features, "select", dim=4, selected=9)
