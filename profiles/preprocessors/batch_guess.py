"""Which inputs of a model are of its batch, where nobody gives them at another size."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from profiles.errors import InputError
from profiles.nested import tensors_of
from profiles.preprocessors.growth import Growth, bags_among
from profiles.preprocessors.trial import trial
from profiles.providers.target import InputBatch, Target
from profiles.walk.input_copies import clone_inputs

__all__ = ["doubled_batch"]


def doubled_batch(target: Target) -> tuple[int, InputBatch]:
    """The samples of the first batch, and that batch twice over.

    Sizes among the inputs are tried, first dimensions first: of a batch of so many samples the model runs on twice as
    many, and an output is twice as long.

    Raises:
        InputError: no size will do.
    """
    batch = target.batches[0]
    before = _output_shapes(target, batch)
    for samples in dict.fromkeys(_sizes(batch)):
        args, kwargs = _Guess(factor=2, samples=samples).of((batch.args, dict(batch.kwargs)), None)
        double = InputBatch(args=args, kwargs=kwargs, weight=batch.weight, label=batch.label)
        try:
            after = _output_shapes(target, double)
        except Exception:  # noqa: BLE001, S112 (what a model raises on inputs that do not go together is its own)
            continue
        if any(_is_twice(*pair) for pair in zip(before, after, strict=False)):
            return samples, double
    raise InputError(f"preprocessor batch: {target.name!r} runs on no inputs twice as many; give the target `resized`")


@dataclass(kw_only=True, slots=True)
class _Guess(Growth):
    """Repeats what has a dimension of `samples`; there is no larger batch to look at."""

    samples: int

    def of(self, small: Any, double: Any) -> Any:  # noqa: ARG002 (the form of a growth)
        return Growth.of(self, small, small)

    def _larger_sequence_parts(self, small: Any, double: Any) -> dict[int, torch.Tensor]:  # noqa: ARG002 (as above)
        return bags_among(small, [self._twice_as_long(part) for part in small], self.factor)

    def _twice_as_long(self, part: Any) -> Any:
        if not isinstance(part, torch.Tensor) or part.ndim != 1:
            return part
        sizes = {self.samples: 2 * self.samples, self.samples + 1: 2 * self.samples + 1}
        return part.new_empty(sizes.get(len(part), 3 * len(part)))

    def _tensor(self, small: torch.Tensor, double: torch.Tensor) -> torch.Tensor:  # noqa: ARG002 (as above)
        for dim, size in enumerate(small.shape):
            if size == self.samples:
                return torch.cat([small] * self.factor, dim)
        return small

    def _registered(self, name: str, small: Any, double: Any) -> Any:  # noqa: ARG002 (as above)
        return Growth._registered(self, name, small, None)  # noqa: SLF001 (of this very class)


def _sizes(batch: InputBatch) -> Iterator[int]:
    tensors = list(tensors_of((batch.args, dict(batch.kwargs))))
    for dim in range(max((tensor.ndim for tensor in tensors), default=0)):
        yield from (tensor.shape[dim] for tensor in tensors if tensor.ndim > dim and tensor.shape[dim])


def _output_shapes(target: Target, batch: InputBatch) -> list[torch.Size]:
    args, kwargs = clone_inputs((batch.args, dict(batch.kwargs)))
    with trial(target.model), torch.no_grad():
        return [tensor.shape for tensor in tensors_of(target.model(*args, **kwargs))]


def _is_twice(before: torch.Size, after: torch.Size) -> bool:
    return len(before) == len(after) and any(2 * one == other != 0 for one, other in zip(before, after, strict=True))
