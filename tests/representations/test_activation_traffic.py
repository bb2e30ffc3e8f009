import pytest
import torch

from profiles.component import Component, make_component
from representations.activation_traffic import ActivationTraffic
from representations.provider import RecommendationProvider


def table(**more: int) -> Component:
    shape: dict[str, int | float | str] = {
        "rows": 100,
        "dim": 4,
        "pooling": 1.0,
        "zipf": 0.0,
        "backend": "torch",
        **more,
    }
    return make_component("embedding", 8, shape)


@pytest.mark.parametrize(("asked", "passed"), [(2**20, 2**20), (1, 8)])
def test_traffic_is_as_much_as_was_asked_for_but_at_least_one_number(asked: int, passed: int) -> None:
    assert ActivationTraffic(asked).traffic_bytes == passed


def test_a_table_in_a_context_has_traffic_before_every_call_and_the_same_rows() -> None:
    provider = RecommendationProvider()
    alone, within = (provider.build(one, 0) for one in (table(), table(context_bytes=4096)))
    assert alone.before is None
    assert isinstance(within.before, ActivationTraffic)
    assert within.before.traffic_bytes == 4096
    within.before()
    torch.testing.assert_close(alone.module(*alone.args), within.module(*within.args))


def test_traffic_follows_its_component_to_a_device() -> None:
    assert ActivationTraffic(64).to("meta").traffic_bytes == 64


@pytest.mark.parametrize(("frees", "gives_back"), [(0, False), (1, True)])
def test_a_pass_that_frees_much_gives_memory_back_before_every_call(frees: int, *, gives_back: bool) -> None:
    before = RecommendationProvider().build(table(context_bytes=4096, context_frees=frees), 0).before
    assert isinstance(before, ActivationTraffic)
    assert before.gives_back is gives_back
    before()
