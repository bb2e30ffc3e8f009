"""Every spec there can be comes back from JSON and TOML, and a bad one says why."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from profiles.errors import InputError, UnknownNameError
from representations.specs import (
    DheSpec,
    EmbeddingSpec,
    Feature,
    HybridSpec,
    MixedDimensionSpec,
    ModelSpec,
    QuotientRemainderSpec,
    RobeSpec,
    TableSpec,
    TensorTrainSpec,
    compressed_robe,
    embedding_from_object,
    embedding_object,
    mixed_dimensions,
    model_from_object,
    toml_text,
)
from tests.representations.models import ROBE, small_model

sizes = st.integers(1, 5000)
tables = st.one_of(
    st.builds(TableSpec, dim=sizes, dtype=st.sampled_from(["float32", "float16"]), backend=st.just("torchrec")),
    st.builds(TableSpec, dim=sizes, dtype=st.sampled_from(["int8", "float16"]), backend=st.just("quantised")),
    st.builds(TableSpec, dim=sizes.map(lambda d: 4 * d), backend=st.just("fbgemm")),
)
dhes = st.builds(
    DheSpec,
    dim=sizes,
    k=sizes.map(lambda k: 2 * k),
    widths=st.lists(sizes, max_size=3).map(tuple),
    activation=st.sampled_from(["mish", "relu"]),
    norm=st.sampled_from(["none", "batch"]),
    transform=st.sampled_from(["uniform", "gaussian"]),
)
trains = st.lists(st.integers(1, 9), min_size=2, max_size=4).flatmap(
    lambda q: st.builds(
        TensorTrainSpec,
        dim=st.just(_product(q)),
        rank=sizes,
        dim_factors=st.just(tuple(q)),
        row_factors=st.one_of(st.just(()), st.tuples(*[sizes] * len(q))),
    )
)
specs: st.SearchStrategy[EmbeddingSpec] = st.one_of(
    tables,
    dhes,
    st.builds(HybridSpec, table=tables, dhe=dhes),
    st.builds(QuotientRemainderSpec, dim=sizes, collisions=sizes, operation=st.sampled_from(["mult", "add", "concat"])),
    sizes.flatmap(lambda d: st.builds(MixedDimensionSpec, dim=st.just(d), inner_dim=st.integers(1, d))),
    trains,
    sizes.flatmap(lambda z: st.builds(RobeSpec, dim=sizes, block=st.just(z), floats=st.integers(z, 10**9))),
)


def _product(factors: list[int]) -> int:
    product = 1
    for factor in factors:
        product *= factor
    return product


@given(specs)
def test_a_spec_survives_json_and_toml(spec: EmbeddingSpec) -> None:
    body = embedding_object(spec)
    assert embedding_from_object(json.loads(json.dumps(body))) == spec
    assert embedding_from_object(tomllib.loads(toml_text(body))) == spec


@given(st.lists(specs, min_size=1, max_size=3), st.text(st.characters(exclude_categories=["Cs"])), st.floats(0.01, 99))
def test_a_model_survives_toml(embeddings: list[EmbeddingSpec], name: str, pooling: float) -> None:
    robes = {spec for spec in embeddings if isinstance(spec, RobeSpec)}
    assume(len(robes) < 2)
    factors = [spec.row_factors if isinstance(spec, TensorTrainSpec) else () for spec in embeddings]
    spec = ModelSpec(
        name=name,
        dense_features=0,
        features=tuple(
            Feature(name=f"{name}{i}", cardinality=_product([*own]), pooling=pooling) for i, own in enumerate(factors)
        ),
        embeddings=tuple(embeddings),
        bottom_mlp=(),
        top_mlp=(1,),
        interaction="concat",
    )
    assert model_from_object(tomllib.loads(toml_text(spec.to_object()))) == spec


def test_what_toml_has_no_value_for_is_an_error() -> None:
    assert tomllib.loads(toml_text({"a b": [True, 1.5], "c": {"d": 2**40}})) == {"a b": [True, 1.5], "c": {"d": 2**40}}
    with pytest.raises(InputError, match=r"a.b\[1\]: TOML has no None"):
        toml_text({"a": {"b": [1, None]}})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"kind": "table", "dim": 4, "dtype": "int8"}, "table: dtype of backend 'torch': unknown name 'int8'"),
        ({"kind": "table", "dim": 4, "backend": "cuda"}, "table: backend: unknown name 'cuda'"),
        ({"kind": "table", "dim": 6, "backend": "fbgemm"}, "dim must be a multiple of 4 for backend 'fbgemm'"),
        ({"kind": "dhe", "dim": 4, "k": 0}, "dhe: k must be >= 1, but got 0"),
        ({"kind": "quotient-remainder", "dim": 4, "operation": "max"}, "operation: unknown name 'max'"),
        ({"kind": "quotient-remainder", "dim": 4, "collisions": 0}, "collisions must be >= 1, but got 0"),
        ({"kind": "mixed-dimension", "dim": 4, "inner_dim": 5}, "inner_dim must be <= dim 4, but got 5"),
        ({"kind": "tensor-train", "dim": 8, "dim_factors": [2, 2]}, "dim_factors must multiply to 8"),
        ({"kind": "tensor-train", "dim": 8, "dim_factors": [8]}, "needs at least two factors"),
        ({"kind": "tensor-train", "dim": 8, "row_factors": [2, 2]}, "needs 3 row_factors"),
        ({"kind": "robe", "dim": 8, "floats": 7, "block": 8}, "floats must be >= block 8, but got 7"),
        ({"kind": "table"}, "representation 'table': dim is missing"),
        ({"kind": "hybrid", "table": {}, "dhe": {"dim": 8}}, "representation 'hybrid': table: dim is missing"),
        ({"kind": "dhe", "dim": 8, "with": 3}, "representation 'dhe': key: unknown name 'with'.*widths"),
        ({"kind": "dhe", "dim": 8, "widths": 3}, "representation 'dhe': .*int"),
        ({"kind": "robe", "dim": 8, "size": 7}, "representation 'robe': .*size"),
        ({"kind": "hybrid", "table": {"dim": 8}}, "representation 'hybrid': dhe is missing"),
        ({"kind": "hybrid", "table": 3, "dhe": 4}, "'hybrid': table must be an object, but got 3"),
        ({"kind": "hybrid", "table": {"dim": 8}, "dhe": {"dim": 8}, "k": 4}, "'hybrid': .*k"),
        (
            {"kind": "hybrid", "table": {"kind": "dhe", "dim": 8}, "dhe": {"dim": 8}},
            "table must be of kind 'table', but got 'dhe'",
        ),
        ([1], r"representation: must be an object with a kind, but got \[1\]"),
        ("x", "representation: must be an object with a kind, but got 'x'"),
        ({"kind": "dhe", "dim": 4, "activation": "gelu"}, "dhe: activation: unknown name 'gelu'"),
        ({"kind": "dhe", "dim": 4, "norm": 3}, "dhe: norm: unknown name '3'"),
        ({"kind": "dhe", "dim": 4, "transform": "normal"}, "dhe: transform: unknown name 'normal'"),
        ({"kind": "dhe", "dim": 4, "k": 1.5}, "dhe: k must be an integer, but got 1.5"),
        ({"kind": "dhe", "dim": 4, "k": True}, "dhe: k must be an integer, but got True"),
        ({"kind": "dhe", "dim": 4, "k": "64"}, "dhe: k must be an integer, but got '64'"),
        ({"kind": "dhe", "dim": 4, "widths": [2.5]}, r"dhe: widths\[0\] must be an integer, but got 2.5"),
        ({"kind": "table", "dim": 16.0}, "table: dim must be an integer, but got 16.0"),
    ],
)
def test_a_bad_spec_says_why(body: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        embedding_from_object(body)


def test_bad_choices_for_a_whole_model_say_why() -> None:
    features = (Feature(name="a", cardinality=10),)
    with pytest.raises(InputError, match="temperature must be finite and >= 0, but got -1"):
        mixed_dimensions(features, dim=4, temperature=-1)
    with pytest.raises(InputError, match="needs at least one feature"):
        mixed_dimensions((), dim=4)
    with pytest.raises(InputError, match="dim must be >= 1, but got 0"):
        mixed_dimensions(features, dim=0)
    with pytest.raises(InputError, match="compression must be >= 1, but got 0"):
        compressed_robe(features, dim=4, compression=0)
    with pytest.raises(InputError, match=r"give 24 rows, but feature 'a' has 30"):
        TensorTrainSpec(dim=8, row_factors=(2, 3, 4)).p(Feature(name="a", cardinality=30))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cardinality": 1.5}, "feature 'a': cardinality must be an integer, but got 1.5"),
        ({"cardinality": "10"}, "feature 'a': cardinality must be an integer, but got '10'"),
        ({"pooling": float("inf")}, "feature 'a': pooling must be finite and > 0, but got inf"),
        ({"pooling": "2"}, "feature 'a': pooling must be a number, but got '2'"),
    ],
)
def test_a_bad_feature_says_why(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Feature(**{"name": "a", "cardinality": 10, **changes})


@pytest.mark.parametrize(("count", "message"), [(2.0, "must be an integer, but got 2.0"), (-1, "must be >= 0, but")])
def test_dense_features_are_counted(count: float, message: str) -> None:
    with pytest.raises(InputError, match=f"model 'small': dense_features {message}"):
        _model(small_model(ROBE).to_object() | {"dense_features": count})


def test_robe_features_share_one_array() -> None:
    with pytest.raises(InputError, match="all robe features share one array"):
        small_model(ROBE, RobeSpec(dim=8, floats=77, block=3))
    spec = small_model(ROBE, TableSpec(dim=8), ROBE)
    assert spec.embedding_bytes == 101 * 4 + 24 + 40 * 8 * 4
    assert spec.robe_offsets == {"f0": 0, "f2": 30}


def test_robe_cannot_tell_more_ids_apart_than_its_prime() -> None:
    body = small_model(ROBE).to_object()
    body["features"] = [{"name": "f0", "cardinality": 2_038_074_744}]
    with pytest.raises(InputError, match="at most 2038074743 ids apart"):
        type(small_model(ROBE))(**{**body, "features": (Feature(**body["features"][0]),), "embeddings": (ROBE,)})


def test_unknown_interactions_and_needless_layers_say_why() -> None:
    body = small_model(ROBE).to_object()
    for changes, error in (({"interaction": "cross"}, "unknown name 'cross'"), ({"deep_mlp": [3]}, "needs deep_mlp")):
        with pytest.raises((InputError, UnknownNameError), match=error):
            _model(body | changes)


def _model(body: dict[str, Any]) -> object:
    return model_from_object(body)
