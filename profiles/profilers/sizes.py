"""What a module holds: parameters, trainable ones, buffers; tied ones count once."""

from collections.abc import Iterable
from pathlib import Path

import torch

from profiles.profilers.option_text import parse_options
from profiles.profilers.protocol import Figure, Finding
from profiles.walk.subject import Subject

__all__ = ["Sizes"]


class Sizes:
    """Counts of parameters and bytes of buffers, by unique storage; buffers that are not saved count as well."""

    name = "sizes"
    visits = 1
    needs_folder = False
    figures: tuple[Figure, ...] = (
        Figure(name="parameters", title="Parameters"),
        Figure(name="trainable_parameters", title="Trainable parameters"),
        Figure(name="buffer_bytes", title="Buffers (bytes)"),
    )

    @classmethod
    def from_text(cls, text: str) -> "Sizes":
        """It has no options."""
        parse_options(cls.name, text, {})
        return cls()

    def open(self, folder: Path | None) -> "Sizes":  # noqa: ARG002 (it writes no files)
        """The profiler itself, which knows nothing of any model."""
        return self

    def start(self, subject: Subject) -> "_SizesRun":
        """Of the module that is in the model, whatever it was prepared to."""
        return _SizesRun(subject.original)


class _SizesRun:
    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module

    def visit(self) -> None:
        """Nothing varies."""

    def finding(self) -> Finding:
        parameters = list(self._module.parameters())
        trainable = [parameter for parameter in parameters if parameter.requires_grad]
        buffers = _unique(self._module.buffers())
        return Finding(
            figures={
                "parameters": float(sum(tensor.numel() for tensor in _unique(parameters))),
                "trainable_parameters": float(sum(tensor.numel() for tensor in _unique(trainable))),
                "buffer_bytes": float(sum(tensor.numel() * tensor.element_size() for tensor in buffers)),
            }
        )


def _unique(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """One of those that show the same elements; what has no memory (device `meta`) is told apart by object."""
    found: dict[tuple[str, int, int, int], torch.Tensor] = {}
    for tensor in tensors:
        address = tensor.untyped_storage().data_ptr() or id(tensor)
        found.setdefault((str(tensor.device), address, int(tensor.storage_offset()), tensor.numel()), tensor)
    return list(found.values())
