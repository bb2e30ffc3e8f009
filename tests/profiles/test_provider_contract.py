from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from profiles.component import Component, Work, make_component
from profiles.providers import BuiltComponent, ComponentProvider
from profiles.testing import ComponentProviderContract
from tests.profiles.small_provider import LinearProvider, linear


class TestLinearProvider(ComponentProviderContract):
    def provider(self) -> ComponentProvider:
        return LinearProvider()

    def components(self) -> Sequence[Component]:
        return [linear(4), linear(8, batch=3), make_component("slow", 2)]


class Careless(LinearProvider):
    def build(self, component: Component, seed: int) -> BuiltComponent:
        built = super().build(component, seed)
        return BuiltComponent(module=built.module, args=(torch.rand(2, 4),))

    def work(self, component: Component) -> Work:
        return replace(super().work(replace(component, kind="linear")), bytes_moved=0)


class CarelessContract(ComponentProviderContract):
    def provider(self) -> ComponentProvider:
        return Careless()

    def components(self) -> Sequence[Component]:
        return [linear(4)]


@pytest.mark.parametrize("name", [name for name in dir(ComponentProviderContract) if name.startswith("test_")])
def test_a_careless_provider_fails_where_it_is_careless(name: str, tmp_path: Path) -> None:
    careless_about = {
        "test_equal_seeds_give_equal_weights_and_inputs",
        "test_work_counts_something_and_nothing_negative",
        "test_an_unknown_kind_is_an_input_error",
    }
    test = getattr(CarelessContract(), name)
    arguments = (tmp_path,) if "sweep" in name else ()
    if name not in careless_about:
        test(*arguments)
        return
    with pytest.raises(AssertionError):
        test(*arguments)
