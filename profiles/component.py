"""A component: the unit that is measured once and predicted ever after."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from profiles.errors import InputError

__all__ = ["Component", "Work", "make_component"]

Scalar = int | float | str


@dataclass(frozen=True, kw_only=True, slots=True)
class Component:
    """One building block at one batch size, e.g. kind `linear` with `in_features` and `out_features`.

    `shape` holds what determines the cost besides the batch, as sorted (name, value) pairs so that it hashes.
    Build one with `make_component`, which sorts.
    """

    kind: str
    batch: int
    shape: tuple[tuple[str, Scalar], ...] = ()
    dtype: str = "float32"
    phase: str = "forward"

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise InputError(f"component {self.kind!r}: batch must be >= 1, but got {self.batch}")
        if list(self.shape) != sorted(self.shape):
            raise InputError(f"component {self.kind!r}: shape must be sorted by name, but got {self.shape}")
        for name, size in self.shape:
            if not isinstance(size, str) and not 0 <= size < math.inf:
                raise InputError(f"component {self.kind!r}: {name} must be finite and >= 0, but got {size}")

    def __getitem__(self, name: str) -> Scalar:
        return dict(self.shape)[name]

    def spec(self) -> str:
        """Canonical JSON of kind, shape, dtype and pass: all but the batch."""
        body = {"kind": self.kind, **dict(self.shape), "dtype": self.dtype, "pass": self.phase}
        return json.dumps(body, sort_keys=True, separators=(",", ":"))

    def content_hash(self, device_key: str) -> str:
        """Key of the measurement of this component on a device: equal inputs, equal key, in any process."""
        text = f"{self.spec()}|batch={self.batch}|{device_key}"
        return hashlib.sha256(text.encode()).hexdigest()[:24]


def make_component(
    kind: str,
    batch: int,
    shape: Mapping[str, Scalar] | None = None,
    *,
    dtype: str = "float32",
    phase: str = "forward",
) -> Component:
    """A `Component` from a plain mapping of its shape."""
    pairs = tuple(sorted((shape or {}).items()))
    return Component(kind=kind, batch=batch, shape=pairs, dtype=dtype, phase=phase)


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """What a component does at its batch size, by formula.

    `flops` counts 2 per multiply-accumulate; `bytes_moved` counts touched rows, weights and activations once each,
    not the size of a table; `input_bytes` is what a host must send to a device for it.
    """

    flops: float
    bytes_moved: float
    parameter_bytes: int
    input_bytes: int = 0
