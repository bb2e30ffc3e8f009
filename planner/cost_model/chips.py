"""How a model is laid out over a device of several chips, and over on-chip memory that it may not fit.

After Hsia et al., arXiv 2302.10872: small models are replicated and queries split over the chips; a model that no chip
holds is sharded over all of them by its tables, or where the device runs as a pipeline, cut into stages; one that all
chips together do not hold streams from the memory behind them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from planner.cost_model.traffic import TABLE_KINDS
from profiles.component import Component
from profiles.errors import InfeasibleError, InputError
from profiles.hardware import Hardware
from profiles.units import format_bytes
from representations.specs import BYTES_PER_FLOAT, ModelSpec

__all__ = ["ChipLayout", "FittedDim", "Layout", "layout_note", "layout_of", "reduce_dim_to_fit", "residency_limits"]

Layout = Literal["single", "replicate", "shard", "pipeline", "stream"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ChipLayout:
    """What each of `units` equal parts of a device does of a component's pass."""

    layout: Layout
    units: int

    def piece(self, component: Component) -> Component:
        """What one unit runs at a time: a share of the samples, or all of them of its share of a sharded table."""
        if self.layout == "single" or self.shares_rows(component):
            return component
        return replace(component, batch=math.ceil(component.batch / self.units))

    def shares_rows(self, component: Component) -> bool:
        """Whether the units look up a part of each sample's rows, rather than all rows of a part of the samples."""
        return self.layout == "shard" and component.kind in TABLE_KINDS

    @property
    def rounds(self) -> float:
        """How many times a piece's time a pass takes.

        A pipeline of as many pieces as stages is busy for one piece at each stage and the pieces before it: a piece
        takes 1 / units of its whole time at a stage, and 2 units - 1 such steps pass until the last piece has come out.
        """
        return (2 * self.units - 1) / self.units if self.layout == "pipeline" else 1.0

    def exchanged_bytes(self, component: Component) -> float:
        """What each unit sends to the others of what it looked up, 0 where each has its own samples' rows."""
        if not self.shares_rows(component):
            return 0.0
        shape = dict(component.shape)
        floats = component.batch * int(shape["dim"]) * int(shape.get("tables", 1))
        return floats * BYTES_PER_FLOAT * (self.units - 1) / self.units**2


def residency_limits(hardware: Hardware) -> tuple[int, ...]:
    """Where the layout changes: what a unit's fast memory holds, and what all of theirs does."""
    fast = _fast_bytes(hardware)
    whole = fast * hardware.units
    is_limited = hardware.units > 1 or hardware.on_chip_bytes > 0
    return tuple(sorted({fast, whole})) if is_limited else ()


def layout_of(hardware: Hardware, resident_bytes: int) -> ChipLayout:
    """How so many bytes are laid out."""
    fast, units = _fast_bytes(hardware), hardware.units
    layout: Layout
    if resident_bytes <= fast:
        layout = "single" if units == 1 else "replicate"
    elif resident_bytes > fast * units and hardware.on_chip_bytes:
        layout = "stream"
    elif units == 1:
        layout = "single"
    else:
        layout = "pipeline" if hardware.is_pipelined else "shard"
    return ChipLayout(layout=layout, units=units)


def layout_note(hardware: Hardware, resident_bytes: int) -> str:
    """How so many bytes lie on the device, for a reader; empty where there is but one way."""
    if not residency_limits(hardware):
        return ""
    layout, held = layout_of(hardware, resident_bytes), f"{format_bytes(resident_bytes)} of parameters"
    fast = format_bytes(_fast_bytes(hardware))
    units = "one unit" if hardware.units == 1 else f"{hardware.units} units"
    return {
        "single": f"{held} lie in the fast memory of {fast}",
        "replicate": f"{held} lie in each of {units} of {fast}, which share the samples",
        "shard": f"{held} are sharded by table over {units} of {fast}",
        "pipeline": f"{held} are cut into stages on {units} of {fast}",
        "stream": f"{held} stream from the memory behind {units} of {fast}",
    }[layout.layout]


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedDim:
    """A model whose embeddings were narrowed until it fitted; `note` says so, and is empty where they were not."""

    model: ModelSpec
    dim: int
    note: str


def reduce_dim_to_fit(build: Callable[[int], ModelSpec], dims: Sequence[int], hardware: Hardware) -> FittedDim:
    """The model of the first of the falling `dims` whose parameters fit the fast memory of all units together.

    Raises:
        InputError: no dim, or dims that do not fall.
        InfeasibleError: not even the last fits.
    """
    if not dims or sorted(dims, reverse=True) != list(dims):
        raise InputError(f"dims: must be one or more, falling, but got {list(dims)}")
    limit = _fast_bytes(hardware) * hardware.units
    for dim in dims:
        model = build(dim)
        if model.parameter_bytes <= limit:
            reduced = f"{model.name}: dim {dim} instead of {dims[0]}, to fit {limit:,} bytes of {hardware.name}"
            return FittedDim(model=model, dim=dim, note=reduced if dim < dims[0] else "")
    raise InfeasibleError(
        f"{hardware.name}: {limit:,} bytes hold {model.name!r} at none of the dims {list(dims)}; "
        f"the last needs {model.parameter_bytes:,}"
    )


def _fast_bytes(hardware: Hardware) -> int:
    return (hardware.on_chip_bytes or hardware.memory_bytes) // hardware.units
