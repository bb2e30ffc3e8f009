"""Contract tests for extensions: subclass one in a test module, and pytest runs it on your implementation."""

import gc
import pickle
import weakref
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import nn

from profiles.component import Component, make_component
from profiles.counting.traffic import state_bytes, tensors_of
from profiles.errors import InputError
from profiles.model_profile import ModelProfile
from profiles.preprocessors.testing import PreprocessorContract
from profiles.profile_options import ProfileOptions
from profiles.profilers.protocol import Profiler
from profiles.providers.models import ModelProvider
from profiles.providers.protocol import BuiltComponent, ComponentProvider
from profiles.providers.target import Target
from profiles.records import ComponentProfile
from profiles.results.testing import ResultWriterContract
from profiles.store import ProfileStore
from profiles.sweep import SweepOptions, sweep
from profiles.walk import profile_model

__all__ = [
    "ComponentProviderContract",
    "ModelProviderContract",
    "PreprocessorContract",
    "ProfilerContract",
    "ResultWriterContract",
]


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
            # As it is measured: other passes need what inference mode leaves out.
            with torch.inference_mode() if component.phase == "forward" else torch.no_grad():
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


class ProfilerContract:
    """What every `Profiler` must hold to.

    class TestMyProfiler(ProfilerContract):
        def profiler(self): return MyProfiler()
    """

    def profiler(self) -> Profiler:
        """A new profiler."""
        raise NotImplementedError

    def model(self) -> nn.Module:
        """What it is tried on: batch statistics, random numbers, work in place, a module that is called twice."""
        twice = nn.Linear(4, 4)
        inner = nn.Sequential(twice, nn.BatchNorm1d(4), nn.Dropout(), nn.ReLU(inplace=True), twice)
        return nn.Sequential(inner, nn.Linear(4, 2))

    def profile(self, folder: Path, profiler: Profiler | None = None, include: Sequence[str] = ()) -> ModelProfile:
        """The profile of that model with nothing but a profiler (None: a new one) beside the latencies."""
        options = _brief(folder, include=tuple(include))
        profilers = [profiler or self.profiler()]
        return profile_model(self.model(), (torch.ones(8, 4),), options=options, profilers=profilers)

    def test_it_says_what_it_gives(self, tmp_path: Path) -> None:  # noqa: ARG002 (as all tests here)
        """A name, at least one visit, and figures with distinct names that no row has already."""
        profiler = self.profiler()
        names = [figure.name for figure in profiler.figures]
        assert profiler.name
        assert profiler.visits >= 1
        assert len(set(names)) == len(names)
        assert not set(names) & {field.name for field in fields(ComponentProfile)}

    def test_it_measures_every_module_and_raises_nowhere(self, tmp_path: Path) -> None:
        """Its failures would be notes on the rows."""
        profiler, profile = self.profiler(), self.profile(tmp_path)
        assert [
            row.reason for row in profile.modules if f"{profiler.name}:" in row.reason and "Error" in row.reason
        ] == []
        assert {row.provenance for row in profile.modules} <= {"measured", "aggregated"}

    def test_all_figures_are_numbers_and_were_announced(self, tmp_path: Path) -> None:
        """Or None, where there is nothing to tell."""
        announced = {figure.name for figure in self.profiler().figures}
        for row in self.profile(tmp_path).modules:
            assert set(row.figures) <= announced | {"interval_share"}, row.path
            assert all(value is None or isinstance(value, int | float) for value in row.figures.values()), row.path

    def test_artefacts_are_files_in_the_folder(self, tmp_path: Path) -> None:
        """One module's are not another's."""
        files = [file for row in self.profile(tmp_path).modules for file in row.artefacts.values()]
        assert all((tmp_path / file).is_file() for file in files)
        assert len(set(files)) == len(files)

    def test_the_model_is_left_as_it_was(self, tmp_path: Path) -> None:
        """Parameters, statistics, gradients, hooks, attributes and random numbers."""
        model, inputs = self.model().train(), torch.ones(8, 4)
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        attributes = [set(module.__dict__) for module in model.modules()]
        random_state = torch.get_rng_state()
        options = _brief(tmp_path, backward=True)
        profile_model(model, (inputs,), options=options, profilers=[self.profiler()])
        assert all(torch.equal(tensor, state[name]) for name, tensor in model.state_dict().items())
        assert [set(module.__dict__) for module in model.modules()] == attributes
        assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())  # noqa: SLF001
        assert all(parameter.grad is None for parameter in model.parameters())
        assert torch.equal(torch.get_rng_state(), random_state)
        assert torch.equal(inputs, torch.ones(8, 4))

    def test_it_does_without_the_model(self, tmp_path: Path) -> None:
        """Where only some modules are measured, it finds the same of them whatever it has measured before."""
        used = self.profiler()
        self.profile(tmp_path, used)
        again, fresh = (self.profile(tmp_path, one, include=("1",)) for one in (used, self.profiler()))
        (row,), (expected,) = ([row for row in one.modules if row.path == "1"] for one in (again, fresh))
        assert row.figures.keys() == expected.figures.keys()
        assert (row.peak_memory_bytes, row.flops) == (expected.peak_memory_bytes, expected.flops)
        assert row.artefacts == expected.artefacts
        assert f"{used.name}: " not in row.reason

    def test_it_holds_nothing_of_a_model_that_was_profiled(self, tmp_path: Path) -> None:
        """What is known of one model must not reach another one, nor keep it in memory."""
        profiler, model = self.profiler(), self.model()
        profile_model(model, (torch.ones(8, 4),), options=_brief(tmp_path), profilers=[profiler])
        seen = weakref.ref(model)
        del model
        gc.collect()
        assert seen() is None

    def test_its_files_are_where_each_profile_wants_them(self, tmp_path: Path) -> None:
        """One object may serve profiles with folders of their own."""
        profiler = self.profiler()
        for folder in (tmp_path / "first", tmp_path / "second"):
            files = [file for row in self.profile(folder, profiler).modules for file in row.artefacts.values()]
            assert all((folder / file).is_file() for file in files)


def _brief(folder: Path, *, include: tuple[str, ...] = (), backward: bool = False) -> ProfileOptions:
    return ProfileOptions(
        threads=1, seconds_per_visit=1e-4, budget_s=0.0, folder=folder, include=include, backward=backward
    )


def _tensors(built: BuiltComponent) -> list[torch.Tensor]:
    return [*built.module.state_dict().values(), *tensors_of(built.args)]


def _are_equal(first: Sequence[Any], second: Sequence[Any]) -> bool:
    return len(first) == len(second) and all(map(torch.equal, first, second))


def _target_tensors(target: Target) -> list[torch.Tensor]:
    inputs = [(batch.args, batch.kwargs) for batch in target.batches]
    return [*target.model.state_dict().values(), *tensors_of(inputs)]
