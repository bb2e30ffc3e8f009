"""Lower precision by torch's switches: autocast, and TensorFloat-32 on NVIDIA devices."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import torch

from profiles.nested import tensors_of
from profiles.preprocessors.option_text import no_option, one_of
from profiles.preprocessors.protocol import Stage
from profiles.profilers.protocol import Figure
from profiles.providers.target import Target
from profiles.walk.subject import Subject

__all__ = ["Autocast", "Tf32"]

_DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


class Autocast:
    """Runs everything under `torch.autocast`, on the CPU and the accelerator alike."""

    figures: tuple[Figure, ...] = ()
    stage: Stage = "change"

    def __init__(self, dtype: str) -> None:
        self.name = f"autocast({one_of('autocast', dtype, _DTYPES)})"
        self._dtype = _DTYPES[dtype]

    @classmethod
    def from_text(cls, text: str) -> "Autocast":
        """`bfloat16` or `float16`."""
        return cls(text)

    def prepare_target(self, target: Target) -> Target:
        """The target, whose products run in the lower type; those of float64 are left alone."""
        lower = str(self._dtype).removeprefix("torch.")
        return replace(target, compute_dtypes=dict.fromkeys(("float32", "float16", "bfloat16"), lower))

    def prepare_subject(self, subject: Subject) -> Subject:
        """The subject itself: its calls were captured under autocast."""
        return subject

    @contextmanager
    def context(self) -> Iterator[None]:
        """Autocast on every kind of device there is."""
        with ExitStack() as stack:
            for kind in _device_kinds():
                stack.enter_context(torch.autocast(kind, dtype=self._dtype))
            yield


class Tf32:
    """Lets float32 products and convolutions of NVIDIA devices use TensorFloat-32; elsewhere a note says so."""

    figures: tuple[Figure, ...] = ()
    stage: Stage = "change"

    def __init__(self) -> None:
        self.name = "tf32"

    @classmethod
    def from_text(cls, text: str) -> "Tf32":
        """Of no text."""
        no_option("tf32", text)
        return cls()

    def prepare_target(self, target: Target) -> Target:
        """The target, with a note where nothing of it is on such a device."""
        tensors = [*target.model.parameters(), *tensors_of([(batch.args, batch.kwargs) for batch in target.batches])]
        if any(tensor.is_cuda for tensor in tensors):
            return replace(target, compute_dtypes={"float32": "tf32", **target.compute_dtypes})
        return replace(target, notes=(*target.notes, "tf32: nothing is on a CUDA device, so it changes nothing"))

    def prepare_subject(self, subject: Subject) -> Subject:
        """The subject itself."""
        return subject

    def context(self) -> AbstractContextManager[object]:
        """The switches on; afterwards they are as they were."""
        return _tf32()


def _device_kinds() -> tuple[str, ...]:
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return ("cpu", accelerator.type) if accelerator else ("cpu",)


@contextmanager
def _tf32() -> Iterator[None]:
    """Torch has older and newer switches, and refuses to read the older ones while the newer say something else."""
    backends: Any = torch.backends
    switches = [backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn, backends.mkldnn.matmul]
    before = [switch.fp32_precision for switch in switches]
    older = _older_precision()
    try:
        if older:
            torch.set_float32_matmul_precision("high")
        for switch in switches:
            switch.fp32_precision = "tf32"
        yield
    finally:
        if older:
            torch.set_float32_matmul_precision(older)
        for switch, precision in zip(switches, before, strict=True):
            switch.fp32_precision = precision


def _older_precision() -> str | None:
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        return None
