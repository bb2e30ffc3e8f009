import json

import pytest

from profiles.errors import InputError, UnknownNameError
from representations.specs import DheSpec, Feature, ModelSpec, TableSpec, embedding_from_object, model_from_object
from tests.representations.models import DHE, HYBRID, MODELS, TABLE, small_model

KAGGLE_LIKE = tuple(Feature(name=f"C{i}", cardinality=10) for i in range(26))


@pytest.mark.parametrize("spec", MODELS, ids=lambda spec: spec.representation)
def test_a_model_survives_json(spec: ModelSpec) -> None:
    assert model_from_object(json.loads(json.dumps(spec.to_object()))) == spec


@pytest.mark.parametrize(
    ("embeddings", "name"),
    [((TABLE, TABLE), "table"), ((DHE,), "dhe"), ((TABLE, DHE), "select"), ((HYBRID, TABLE), "hybrid")],
)
def test_the_representation_names_the_mix(embeddings: tuple[TableSpec, ...], name: str) -> None:
    assert small_model(*embeddings).representation == name


@pytest.mark.parametrize(
    ("k", "widths", "dim", "megabytes"),
    [
        (128, (128,), 16, 1.99),
        (1024, (128,), 16, 14.3),
        (1024, (256, 128), 16, 31.4),
        (1024, (512, 256), 16, 69.1),
        (2048, (512, 256), 16, 124),
        (1024, (256, 128), 64, 32.0),
    ],
)
def test_the_bytes_of_26_dhes_are_the_derived_ones(k: int, widths: tuple[int, ...], dim: int, megabytes: float) -> None:
    spec = DheSpec(dim=dim, k=k, widths=widths)
    total = sum(spec.parameter_bytes(feature) for feature in KAGGLE_LIKE) / 1e6
    assert float(f"{total:.3g}") == megabytes


def test_the_published_dhe_is_a_quarter_of_its_table() -> None:
    dhe = DheSpec(dim=32, k=1024, widths=(1800,) * 5)
    learned = (dhe.parameter_bytes(KAGGLE_LIKE[0]) - 16 * 1024) / 4
    assert learned == pytest.approx(14.87e6, rel=1e-4)
    assert learned / (2_000_000 * 32) == pytest.approx(0.232, abs=1e-3)


def test_dot_needs_equal_widths() -> None:
    with pytest.raises(InputError, match=r"needs width 8 for every feature, but 'f1' \(table\) gives 4"):
        small_model(TABLE, TableSpec(dim=4))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"top_mlp": [4, 2]}, r"top_mlp must end in 1 \(the logit\), but ends in 2"),
        ({"features": [{"name": "a", "cardinality": 2}] * 2}, "names must be distinct"),
        ({"embeddings": [{"kind": "table", "dim": 8}]}, "2 features, but 1 embeddings"),
        ({"bottom_mlp": []}, "needs at least one feature, a bottom layer"),
        ({"bottom_mlp": [0, 8]}, r"bottom_mlp\[0\] must be >= 1"),
        ({"nonsense": 1}, "model: key: unknown name 'nonsense'"),
        ({"features": [{"name": "a"}]}, r"model: features\[0\]: cardinality is missing"),
        ({"features": 3}, "model: 'int' object is not iterable"),
    ],
)
def test_a_bad_model_says_why(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        model_from_object(small_model(TABLE, TABLE).to_object() | changes)


def test_bad_parts_say_why() -> None:
    with pytest.raises(InputError, match="cardinality must be >= 1, but got 0"):
        Feature(name="a", cardinality=0)
    with pytest.raises(InputError, match="feature: name must not be empty, but got ''"):
        Feature(name="", cardinality=1)
    with pytest.raises(InputError, match="pooling must be finite and > 0, but got 0"):
        Feature(name="a", cardinality=1, pooling=0)
    with pytest.raises(InputError, match="k must be even for gaussian pairs, but got 3"):
        DheSpec(dim=4, k=3, transform="gaussian")
    with pytest.raises(UnknownNameError, match="unknown name 'tabel'"):
        embedding_from_object({"kind": "tabel", "dim": 4})


def test_renaming_changes_the_name_only() -> None:
    spec = small_model(TABLE)
    assert spec.renamed("other") == model_from_object({**spec.to_object(), "name": "other"})
