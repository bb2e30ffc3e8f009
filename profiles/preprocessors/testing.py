"""The contract test of preprocessors; public as `profiles.testing.PreprocessorContract`."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

import torch

from profiles.model_profile import ModelProfile
from profiles.nested import tensors_of
from profiles.preprocessors.copies import model_tensors
from profiles.preprocessors.protocol import Preprocessor
from profiles.profile_options import ProfileOptions
from profiles.providers.target import Target
from profiles.records import ComponentProfile
from profiles.walk import profile_target
from profiles.walk.input_copies import clone_inputs
from profiles.walk.subject import Subject

__all__ = ["PreprocessorContract"]

_ROW_FIELDS = frozenset(field.name for field in fields(ComponentProfile))


class PreprocessorContract:
    """What every `Preprocessor` must hold to.

    class TestMyPreprocessor(PreprocessorContract):
        def preprocessor(self): return MyPreprocessor()
        def targets(self): return [Target(name="net", model=Net(), batches=(InputBatch(args=(torch.rand(4, 8),)),))]
    """

    def preprocessor(self) -> Preprocessor:
        """A new one of those under test."""
        raise NotImplementedError

    def targets(self) -> Sequence[Target]:
        """Small models, the same ones every time."""
        raise NotImplementedError

    def test_it_has_a_name_that_rows_can_carry(self) -> None:
        """One line, without the `+` that joins names."""
        name = self.preprocessor().name
        assert name
        assert name.isprintable()
        assert "+" not in name

    def test_the_model_is_profiled_with_it_as_without(self) -> None:
        """The same modules in the same order, the model itself measured, its rows under the preprocessor's name."""
        for target in self.targets():
            plain, prepared = _profile(target), _profile(target, self.preprocessor())
            assert [row.path for row in prepared.rows] == [row.path for row in plain.rows], target.name
            assert prepared.rows[0].provenance == "measured", prepared.rows[0].reason
            assert {row.preprocessors for row in prepared.rows} == {(self.preprocessor().name,)}

    def test_the_model_and_its_inputs_are_left_as_they_were(self) -> None:
        """Bit for bit, in the same tensors, with the same hooks, modules and flags."""
        for target in self.targets():
            before, copies = _held(target), _copies(target)
            _profile(target, self.preprocessor())
            after = _held(target)
            assert list(before) == list(after), target.name
            assert all(before[name] is after[name] for name in before), target.name
            assert all(map(_is_same, _tensors(target), copies)), target.name

    def test_switches_are_back_after_an_error(self) -> None:
        """Those of torch that decide how operators run."""
        before = _switches()
        with suppress(ZeroDivisionError), self.preprocessor().context():
            _ = 1 / len(())
        assert _switches() == before

    def test_two_that_are_nested_leave_the_switches_as_they_were(self) -> None:
        """A profile inside a profile."""
        before = _switches()
        with self.preprocessor().context():
            inside = _switches()
            with self.preprocessor().context():
                assert _switches() == inside
            assert _switches() == inside
        assert _switches() == before

    def test_batches_of_other_sizes_are_prepared_too(self) -> None:
        """`resized` gives what the prepared model takes."""
        for target in self.targets():
            if target.resized:
                prepared = self.preprocessor().prepare_target(target)
                assert prepared.resized, target.name
                assert _profile(replace(prepared, batches=(prepared.resized(2),))).rows[0].provenance == "measured"

    def test_its_figures_are_those_it_names(self) -> None:
        """Else nobody knows how a parent adds them up."""
        for target in self.targets():
            recording = _Recording(self.preprocessor())
            _profile(target, recording)
            named = {figure.name for figure in recording.figures}
            assert not recording.found - named - _ROW_FIELDS, target.name


class _Recording:
    """A preprocessor that takes down the names of the figures that another one finds."""

    def __init__(self, preprocessor: Preprocessor) -> None:
        self._preprocessor = preprocessor
        self.name, self.figures, self.stage = preprocessor.name, preprocessor.figures, preprocessor.stage
        self.prepare_target, self.context = preprocessor.prepare_target, preprocessor.context
        self.found: set[str] = set()

    def prepare_subject(self, subject: Subject) -> Subject:
        prepared = self._preprocessor.prepare_subject(subject)
        self.found |= set(prepared.figures)
        return prepared


def _profile(target: Target, *preprocessors: Preprocessor) -> ModelProfile:
    options = ProfileOptions(seconds_per_visit=1e-4, budget_s=0.0, threads=1)
    return profile_target(target, options=options, preprocessors=preprocessors)


def _tensors(target: Target) -> list[torch.Tensor]:
    inputs = [(batch.args, dict(batch.kwargs)) for batch in target.batches]
    return [*model_tensors(target.model), *tensors_of(inputs)]


def _copies(target: Target) -> list[torch.Tensor]:
    return list(tensors_of(clone_inputs(_tensors(target))))


def _is_same(tensor: torch.Tensor, copied: torch.Tensor) -> bool:
    return tensor.dtype == copied.dtype and torch.equal(tensor, copied)


def _held(target: Target) -> Mapping[str, Any]:
    """The objects that a model consists of, by name."""
    held: dict[str, Any] = {}
    for path, module in target.model.named_modules():
        held[f"{path}:module"], held[f"{path}:training"] = module, module.training
        held |= {f"{path}:{name}": value for name, value in module.named_parameters(recurse=False)}
        held |= {f"{path}:{name}": value for name, value in module.named_buffers(recurse=False)}
        hooks = [*module._forward_pre_hooks.values(), *module._forward_hooks.values()]  # noqa: SLF001 (no public list)
        held |= {f"{path}:hook {place}": hook for place, hook in enumerate(hooks)}
    return held


def _switches() -> tuple[Any, ...]:
    backends: Any = torch.backends
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
        torch.is_autocast_cache_enabled(),
        torch.get_default_dtype(),
        torch.get_num_threads(),
        torch.are_deterministic_algorithms_enabled(),
        backends.cuda.matmul.fp32_precision,
        backends.cudnn.conv.fp32_precision,
        backends.cudnn.rnn.fp32_precision,
        backends.mkldnn.matmul.fp32_precision,
        backends.mkldnn.enabled,
    )
