"""The choices of a candidate that has one representation for all features."""

from collections.abc import Mapping

from planner.search.factors import Axis
from planner.study import SpaceSection

__all__ = ["AXES", "flat_axes"]

_DHE_AXES = ("dim", "dhe_k", "dhe_width", "dhe_depth")
# What matters under each representation, in the order in which it is drawn.
AXES: Mapping[str, tuple[str, ...]] = {
    "table": ("dim",),
    "dhe": _DHE_AXES,
    "select": (*_DHE_AXES, "select_largest"),
    "hybrid": _DHE_AXES,
    "quotient-remainder": ("dim", "qr_collisions"),
    "mixed-dimension": ("dim",),
    "tensor-train": ("dim", "tt_rank"),
    "robe": ("dim", "robe_compression"),
}


def flat_axes(space: SpaceSection) -> tuple[Axis, ...]:
    """The axes of the space's representations, each drawn only where it matters."""
    names = dict.fromkeys(name for representation in space.representation for name in AXES[representation])
    return (
        Axis(name="representation", offered=space.representation),
        *(Axis(name=name, offered=getattr(space, name), needs=_needs(space, name)) for name in names),
    )


def _needs(space: SpaceSection, name: str) -> Mapping[str, frozenset[str | int | float]]:
    return {"representation": frozenset(one for one in space.representation if name in AXES[one])}
