"""Contract tests for extensions: subclass one in a test module, and pytest runs it on your implementation."""

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from profiles.component import Component, make_component
from profiles.errors import InputError
from profiles.providers.models import ModelProvider
from profiles.providers.protocol import BuiltComponent, ComponentProvider
from profiles.providers.target import Target
from profiles.store import ProfileStore
from profiles.sweep import SweepOptions, sweep
from profiles.traffic import state_bytes, tensors_of

__all__ = ["ComponentProviderContract", "ModelProviderContract"]


class ComponentProviderContract:
    """What every `ComponentProvider` must hold to.

    class TestMyProvider(ComponentProviderContract):
        def provider(self): return MyProvider()
        def components(self): return [make_component("mine", 4, {"width": 8})]
    """

    def provider(self) -> ComponentProvider:
        """The provider under test."""
        raise NotImplementedError

    def components(self) -> Sequence[Component]:
        """Small components, one or more of each kind that the provider knows."""
        raise NotImplementedError

    def test_every_component_is_built_and_runs(self) -> None:
        """The module takes the arguments that come with it."""
        for component in self.components():
            built = self.provider().build(component, seed=0)
            with torch.inference_mode():
                output = built.module.eval()(*built.args)
            assert any(True for _ in tensors_of(output)), component

    def test_equal_seeds_give_equal_weights_and_inputs(self) -> None:
        """Whatever was drawn from the global generator before."""
        for component in self.components():
            first = self.provider().build(component, seed=3)
            torch.rand(1)
            second = self.provider().build(component, seed=3)
            assert _are_equal(_tensors(first), _tensors(second)), component

    def test_work_counts_something_and_nothing_negative(self) -> None:
        """Every component moves bytes; not every one computes."""
        for component in self.components():
            work = self.provider().work(component)
            assert work.bytes_moved > 0, component
            assert min(work.flops, work.parameter_bytes, work.input_bytes) >= 0, component

    def test_parameter_bytes_equal_those_of_the_built_module(self) -> None:
        """The formula is exact, persistent buffers included."""
        for component in self.components():
            module = self.provider().build(component, seed=0).module
            assert self.provider().work(component).parameter_bytes == state_bytes(module), component

    def test_an_unknown_kind_is_an_input_error(self) -> None:
        """Which a sweep records as the reason of a skipped row."""
        unknown = make_component("no-such-kind", 1)
        for attempt in (lambda: self.provider().build(unknown, seed=0), lambda: self.provider().work(unknown)):
            try:
                attempt()
            except InputError:
                continue
            raise AssertionError("an unknown kind must raise InputError")

    def test_the_provider_travels_to_a_worker(self) -> None:
        """It can be pickled."""
        assert pickle.dumps(self.provider())

    def test_a_sweep_measures_every_component(self, tmp_path: Path) -> None:
        """None is skipped."""
        components = self.components()
        options = SweepOptions(seconds_per_visit=1e-4, min_samples=1, max_samples=2, least_gap_s=0.0)
        result = sweep(components, self.provider(), ProfileStore(tmp_path), options=options)
        assert result.skipped == ()
        assert result.measured == len(set(components))


class ModelProviderContract:
    """What every `ModelProvider` must hold to.

    class TestMyModels(ModelProviderContract):
        def provider(self): return MyModels()
    """

    def provider(self) -> ModelProvider:
        """The provider under test."""
        raise NotImplementedError

    def tried(self) -> Sequence[str]:
        """The names to load, all by default; leave large models out."""
        return self.provider().names()

    def test_names_are_sorted_and_distinct(self) -> None:
        """There is at least one."""
        names = self.provider().names()
        assert names
        assert list(names) == sorted(set(names))

    def test_an_unknown_name_is_an_input_error(self) -> None:
        """Which ends a command with code 2."""
        try:
            self.provider().load("no-such-model")
        except InputError:
            return
        raise AssertionError("an unknown name must raise InputError")

    def test_every_model_runs_on_each_batch(self) -> None:
        """And on its first batch with another number of samples, where it can be resized."""
        for name in self.tried():
            target = self.provider().load(name)
            resized = (target.resized(3),) if target.resized else ()
            for batch in (*target.batches, *resized):
                with torch.no_grad():
                    output = target.model(*batch.args, **batch.kwargs)
                assert any(True for _ in tensors_of(output)), (name, batch.label)

    def test_equal_weights_and_inputs_every_time(self) -> None:
        """On the CPU, whatever was drawn from the global generator before, which is left as it was."""
        for name in self.tried():
            state = torch.get_rng_state()
            first = self.provider().load(name)
            assert torch.equal(state, torch.get_rng_state()), name
            torch.rand(1)
            second = self.provider().load(name)
            assert _are_equal(_target_tensors(first), _target_tensors(second)), name
            assert {tensor.device.type for tensor in _target_tensors(first)} <= {"cpu"}, name

    def test_true_bytes_are_of_modules_that_hold_others(self) -> None:
        """By path; what was not scaled is not mentioned."""
        for name in self.tried():
            target = self.provider().load(name)
            modules = dict(target.model.named_modules(remove_duplicate=False))
            for path, size in target.true_parameter_bytes.items():
                assert size != state_bytes(modules[path]), (name, path)


def _tensors(built: BuiltComponent) -> list[torch.Tensor]:
    return [*built.module.state_dict().values(), *tensors_of(built.args)]


def _are_equal(first: Sequence[Any], second: Sequence[Any]) -> bool:
    return len(first) == len(second) and all(map(torch.equal, first, second))


def _target_tensors(target: Target) -> list[torch.Tensor]:
    inputs = [(batch.args, batch.kwargs) for batch in target.batches]
    return [*target.model.state_dict().values(), *tensors_of(inputs)]
