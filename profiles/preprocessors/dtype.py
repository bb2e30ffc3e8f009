"""Another floating-point type for weights and inputs."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TypeVar

import torch
from torch import nn

from profiles.counting.traffic import state_bytes
from profiles.errors import MeasurementError
from profiles.preprocessors.copies import model_tensors, model_with, target_with_inputs, with_tensors
from profiles.preprocessors.option_text import one_of
from profiles.preprocessors.protocol import Stage
from profiles.profilers.protocol import Figure
from profiles.providers.target import InputBatch, Target
from profiles.walk.subject import Subject

__all__ = ["CastDtype"]

T = TypeVar("T")
_DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32, "float64": torch.float64}


class CastDtype:
    """Casts parameters, floating-point buffers and inputs, as `model.to(dtype)` does, in a copy of the model.

    The cast tensors stand beside the user's own while the profile runs: half as much memory again for a 16-bit type.
    `rows` before it makes tables small enough.
    """

    figures: tuple[Figure, ...] = ()
    stage: Stage = "change"

    def __init__(self, dtype: str) -> None:
        self.name = f"dtype({one_of('dtype', dtype, _DTYPES)})"
        self._dtype = _DTYPES[dtype]

    @classmethod
    def from_text(cls, text: str) -> "CastDtype":
        """`bfloat16`, `float16`, `float32` or `float64`."""
        return cls(text)

    def prepare_target(self, target: Target) -> Target:
        """The model and the batches in the other type.

        Raises:
            MeasurementError: there is no memory for the cast tensors beside the model's own.
            InputError: the model or an input cannot be copied.
        """
        try:
            pairs = [(tensor, self._cast(tensor)) for tensor in model_tensors(target.model)]
        except (RuntimeError, MemoryError) as error:
            raise MeasurementError(f"{self.name}: no room beside the model, use `rows` before: {error}") from error
        cast = {id(tensor): other for tensor, other in pairs if other is not tensor}
        model = model_with(target.model, cast, self.name)
        return replace(
            target_with_inputs(target, self._cast_batch),
            model=model,
            true_parameter_bytes={
                path: round(true_bytes * state_bytes(model.get_submodule(path)) / state_bytes(original))
                for path, true_bytes in target.true_parameter_bytes.items()
                if state_bytes(original := target.model.get_submodule(path))
            },
        )

    def prepare_subject(self, subject: Subject) -> Subject:
        """The subject itself, which is a module of the cast model."""
        return subject

    def context(self) -> AbstractContextManager[object]:
        """Nothing."""
        return nullcontext()

    def _cast_batch(self, batch: InputBatch) -> InputBatch:
        return replace(batch, args=self._cast_inputs(batch.args), kwargs=self._cast_inputs(batch.kwargs))

    def _cast_inputs(self, value: T) -> T:
        return with_tensors(value, self._cast, self.name)

    def _cast(self, tensor: torch.Tensor) -> torch.Tensor:
        """The same tensor where there is nothing to cast: whole numbers, complex ones, the right type."""
        if not tensor.is_floating_point() or tensor.dtype is self._dtype:
            return tensor
        cast = tensor.detach().to(self._dtype)
        if isinstance(tensor, nn.Parameter):
            return nn.Parameter(cast, requires_grad=tensor.requires_grad)
        return cast.requires_grad_(tensor.requires_grad)
