"""Another batch size: of the model as it is captured, or only of the modules that are run alone."""

import zlib
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from torch import nn

import profiles.preprocessors.jagged  # noqa: F401 (makes its classes known to `Growth`)
from profiles.counting.traffic import leaf_bytes, touched_rows
from profiles.errors import InputError, MeasurementError
from profiles.nested import tensors_of
from profiles.preprocessors.batch_guess import doubled_batch
from profiles.preprocessors.growth import Growth
from profiles.preprocessors.option_text import positive
from profiles.preprocessors.protocol import Stage
from profiles.preprocessors.trial import trial
from profiles.profilers.protocol import Figure
from profiles.providers.target import InputBatch, Target
from profiles.walk.capture import CapturedCall, observe, signature
from profiles.walk.preservation import preserved
from profiles.walk.subject import Subject
from profiles.walk.tree import module_tree

__all__ = ["BatchSize"]


class BatchSize:
    """Profiles a model at `samples`; with `captured` it runs as a whole at so few only, and modules alone at `samples`.

    What is of the batch among a module's inputs is seen by a pass over twice the batch. Modules that look up tables get
    ids drawn anew by their frequencies, because the captured ones again and again would be found in a cache. Latencies
    in the model are then of `captured` samples; all other figures are of `samples`, or missing: what is not run alone,
    and what modules do outside their children, has no FLOPs and bytes then.
    """

    figures: tuple[Figure, ...] = (Figure(name="touched_rows", title="Rows looked up"),)
    stage: Stage = "change"

    def __init__(self, samples: int, *, captured: int | None = None) -> None:
        if min(samples, captured or samples) < 1 or samples % (captured or samples):
            raise InputError(
                f"preprocessor batch: must be a multiple of what is captured, but got {samples}@{captured}"
            )
        self.name = f"batch({samples})" if captured is None else f"batch({samples}@{captured})"
        self.samples, self.captured = samples, captured
        self._doubled: Mapping[str, list[CapturedCall]] = {}

    @classmethod
    def from_text(cls, text: str) -> "BatchSize":
        """`256`, or `256@8` to capture 8."""
        samples, at, captured = text.partition("@")
        return cls(positive("batch", samples), captured=positive("batch", captured) if at else None)

    def prepare_target(self, target: Target) -> Target:
        """The target with one batch, of the size that is captured.

        Raises:
            InputError: the target has no `resized`, and its own batch is not of the size to capture or none of the
                sizes of its inputs is that of the batch.
        """
        if len(target.batches) > 1:
            target = replace(target, notes=(*target.notes, f"{self.name}: of the first of several batches"))
        if self.captured is None and target.resized:
            return replace(target, batches=(target.resized(self.samples),))
        small, double = self._two_batches(target)
        if self.captured is None:
            growth = Growth(factor=self.samples // small[0], rng=self._rng(""))
            return replace(target, batches=(_grown_batch(growth, small[1], double),))
        self._doubled = _calls(target, double)
        told = f"{self.name}: latencies in the model are of {self.captured} samples, all else of {self.samples}"
        is_sample = self.captured != self.samples
        return replace(target, batches=(small[1],), notes=(*target.notes, told), is_sample=is_sample)

    def prepare_subject(self, subject: Subject) -> Subject:
        """The module's calls at the larger batch, with their FLOPs and bytes.

        Raises:
            MeasurementError: the module is called otherwise at twice the batch, or its inputs tell no rule.
        """
        if self.captured in (None, self.samples):
            return subject
        doubled = self._doubled.get(subject.path, [])
        if len(doubled) != len(subject.calls):
            raise MeasurementError(
                f"{self.name}: called in {len(subject.calls)} ways, but in {len(doubled)} with twice the batch"
            )
        rng = self._rng(subject.path) if _looks_up(subject.original) else None
        pairs = zip(subject.calls, doubled, strict=True)
        calls = tuple(self._grown_call(call, double, rng, subject.original) for call, double in pairs)
        grown = replace(subject, calls=calls)
        if subject.phase == "backward":
            return grown
        inner = f"{subject.path}." if subject.path else ""
        is_leaf = not any(
            calls for path, calls in self._doubled.items() if path.startswith(inner) and path != subject.path
        )
        return replace(grown, figures={**subject.figures, **_work(grown, is_leaf=is_leaf)})

    def context(self) -> AbstractContextManager[object]:
        """Nothing."""
        return nullcontext()

    def _two_batches(self, target: Target) -> tuple[tuple[int, InputBatch], InputBatch]:
        """The samples of the batch to capture, that batch, and it twice over."""
        if target.resized and self.captured:
            small, other = target.resized(self.captured), target.resized(2 * self.captured)
            return (self.captured, small), _grown_batch(Growth(factor=2, is_repeated=False), small, other)
        samples, double = doubled_batch(target)
        if self.captured not in (None, samples) or self.samples % samples:
            raise InputError(
                f"preprocessor {self.name}: {target.name!r} comes with {samples} samples and no other; "
                f"capture these, and run a multiple of them"
            )
        return (samples, target.batches[0]), double

    def _grown_call(
        self, call: CapturedCall, double: CapturedCall, rng: np.random.Generator | None, module: nn.Module
    ) -> CapturedCall:
        factor = self.samples // (self.captured or self.samples)
        growth = Growth(factor=factor, rng=rng, id_range=_id_range(module))
        args, kwargs = growth.of((call.args, dict(call.kwargs)), (double.args, dict(double.kwargs)))
        return replace(call, args=args, kwargs=kwargs, signature=signature((args, kwargs) if kwargs else args))

    def _rng(self, path: str) -> np.random.Generator:
        return np.random.default_rng(zlib.crc32(f"{path}:{self.samples}".encode()))


def _grown_batch(growth: Growth, small: InputBatch, double: InputBatch) -> InputBatch:
    args, kwargs = growth.of((small.args, dict(small.kwargs)), (double.args, dict(double.kwargs)))
    return replace(small, args=args, kwargs=kwargs)


def _calls(target: Target, double: InputBatch) -> Mapping[str, list[CapturedCall]]:
    nodes = module_tree(target.model)
    with preserved(target.model) as held:
        observed = observe(target.model, nodes, (double,), held=held)
    if observed[0].failure:
        raise InputError(f"preprocessor batch: {target.name!r} raises on its batch twice over: {observed[0].failure}")
    return {node.path: seen.calls for node, seen in zip(nodes, observed, strict=True)}


def _looks_up(module: nn.Module) -> bool:
    """Whether there is a table in it, of torch or by the name of its class."""
    return any("embedding" in type(part).__name__.lower() for part in module.modules())


def _id_range(module: nn.Module) -> tuple[int, int] | None:
    return (0, module.num_embeddings - 1) if isinstance(module, nn.Embedding | nn.EmbeddingBag) else None


def _work(subject: Subject, *, is_leaf: bool) -> Mapping[str, Any]:
    """What a row has of one pass: FLOPs, of a leaf bytes and touched rows, and the first dimension of the inputs."""
    flops, moved, rows, is_known = 0.0, 0.0, 0.0, is_leaf
    is_table = isinstance(subject.original, nn.Embedding | nn.EmbeddingBag)
    for call in subject.calls:
        fresh, times = call.fresh(), call.count * call.weight
        with subject.context(call), trial(subject.original) as watch:
            output = fresh.run(subject.original)
        flops += times * watch.flops
        of_leaf = leaf_bytes(subject.original, (call.args, call.kwargs), output) if is_known else None
        is_known, moved = of_leaf is not None, moved + times * (of_leaf or 0.0)
        rows += times * (touched_rows(subject.original, (call.args, call.kwargs)) or 0)
    tensors = tensors_of([(call.args, call.kwargs) for call in subject.calls])
    figures = {"flops": flops, "batch": next((one.shape[0] for one in tensors if one.ndim and one.shape[0]), 1)}
    return figures | ({"bytes_moved": moved} if is_known else {}) | ({"touched_rows": rows} if is_table else {})
