"""Where the rectangles of an icicle lie: pure arithmetic on a tree of values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Rectangle", "icicle_layout", "parent_indices"]

# Sums of a parent's own parts differ from it by rounding, which is no excess.
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Rectangle:
    """From `x0` to `x1`, as shares of the root's value, in the row `depth`.

    `end` is where the node's own value ends: before `x1` where its children come to more than it does.
    """

    x0: float
    x1: float
    end: float
    depth: int


def icicle_layout(values: Sequence[float | None], parents: Sequence[int | None]) -> tuple[Rectangle, ...]:
    """One rectangle per node, all to one scale; `parents` come before their children.

    Children lie side by side under their parent, in order. Where they come to more than the parent, as modules run
    alone may, its place is as wide as they are, and so are those of all that hold it: nothing is clipped or shrunk.
    Where they come to less, a gap is left. A node of unknown value (None) is as wide as its children.
    """
    inside = [0.0] * len(values)
    widths = [0.0] * len(values)
    for index in reversed(range(len(values))):
        value, parent = values[index], parents[index]
        fits = value is not None and inside[index] <= value * (1 + _ROUNDING)
        widths[index] = value if value is not None and fits else inside[index]
        if parent is not None:
            inside[parent] += widths[index]
    roots = [index for index, parent in enumerate(parents) if parent is None]
    whole = sum(_known(values[index], widths[index]) for index in roots) or 1.0
    placed: list[Rectangle] = []
    used: dict[int | None, float] = {}
    for index, parent in enumerate(parents):
        outer = placed[parent] if parent is not None else None
        start = used.get(parent, outer.x0 if outer else 0.0)
        end = start + widths[index] / whole
        # The bound keeps rounding from pushing a child over its parent's edge.
        x1 = min(end, outer.x1) if outer else end
        used[parent] = x1
        own = start + _known(values[index], widths[index]) / whole
        placed.append(Rectangle(x0=min(start, x1), x1=x1, end=min(own, x1), depth=outer.depth + 1 if outer else 0))
    return tuple(placed)


def parent_indices(paths: Sequence[str]) -> tuple[int | None, ...]:
    """Each dotted path's parent as a place in `paths`: the longest known prefix; None for the root `""`."""
    places: Mapping[str, int] = {path: index for index, path in enumerate(paths)}
    parents: list[int | None] = []
    for path in paths:
        parent = path
        while parent:
            parent = parent.rpartition(".")[0]
            if parent in places:
                break
        parents.append(places.get(parent) if path else None)
    return tuple(parents)


def _known(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
