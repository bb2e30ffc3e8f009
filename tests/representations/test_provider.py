from collections.abc import Sequence

import pytest
import torch

from profiles.component import Component, make_component
from profiles.errors import InputError, UnknownNameError
from profiles.providers import ComponentProvider
from profiles.testing import ComponentProviderContract
from representations.components import components_of
from representations.provider import RecommendationProvider
from tests.representations.models import MODELS

TABLE: dict[str, int | float | str] = {"rows": 1000, "dim": 4, "pooling": 1.0, "zipf": 0.0, "backend": "torch"}


class TestRecommendationProvider(ComponentProviderContract):
    def provider(self) -> ComponentProvider:
        return RecommendationProvider()

    def components(self) -> Sequence[Component]:
        placed = [placed.component for spec in MODELS for placed in components_of(spec, 6, zipf=1.0)]
        return [*dict.fromkeys(placed), make_component("elementwise", 3, {"function": "sigmoid", "width": 4})]


def ids_of(component: Component) -> torch.Tensor:
    ids = RecommendationProvider().build(component, seed=0).args[0]
    assert isinstance(ids, torch.Tensor)
    return ids


def test_pooled_ids_come_in_equal_bags() -> None:
    ids, offsets = RecommendationProvider().build(make_component("embedding", 4, TABLE | {"pooling": 2.5}), 0).args
    assert len(ids) == 10
    assert offsets.tolist() == [0, 2, 5, 7]


def test_skewed_ids_repeat_more() -> None:
    uniform, skewed = (ids_of(make_component("embedding", 500, TABLE | {"zipf": z})) for z in (0.0, 1.2))
    assert len(set(skewed.tolist())) < 0.7 * len(set(uniform.tolist()))


def test_output_shapes_are_those_of_the_component() -> None:
    built = RecommendationProvider().build(
        make_component("interaction", 3, {"function": "dot", "vectors": 4, "dim": 5}), 0
    )
    assert built.module(*built.args).shape == (3, 5 + 6)
    joined = RecommendationProvider().build(make_component("concat", 3, {"width": 7, "parts": 2}), 0)
    assert joined.module(*joined.args).shape == (3, 7)


@pytest.mark.parametrize(
    ("kind", "shape", "message"),
    [
        ("embedding", TABLE | {"backend": "tpu"}, "table: backend: unknown name 'tpu'"),
        ("elementwise", {"function": "tanh", "width": 3}, "elementwise function: unknown name 'tanh'"),
        ("interaction", {"function": "cross", "vectors": 3}, "interaction function: unknown name 'cross'"),
        ("dhe_encoder", {"k": 4, "rows": 3, "transform": "cauchy"}, "dhe transform: unknown name 'cauchy'"),
    ],
)
def test_unknown_names_list_the_known_ones(kind: str, shape: dict[str, float | str], message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        RecommendationProvider().build(make_component(kind, 1, shape), 0)


def test_a_shape_that_lacks_a_key_is_named() -> None:
    with pytest.raises(InputError, match="component 'linear': shape lacks 'in_features'"):
        RecommendationProvider().build(make_component("linear", 1), 0)
    with pytest.raises(InputError, match="width 1 cannot be split into 2 parts"):
        RecommendationProvider().build(make_component("concat", 1, {"width": 1, "parts": 2}), 0)
