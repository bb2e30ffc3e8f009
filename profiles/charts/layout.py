"""Where the rectangles of an icicle lie: pure arithmetic on a tree of values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Rectangle", "icicle_layout", "parent_indices"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rectangle:
    """From `x0` to `x1`, as shares of the root, in the row `depth`."""

    x0: float
    x1: float
    depth: int


def icicle_layout(values: Sequence[float], parents: Sequence[int | None]) -> tuple[Rectangle, ...]:
    """One rectangle per node; `parents` come before their children.

    Children lie side by side in their parent, in order, as wide as their share of the parent's value. Where they come
    to more than the parent, as isolated measurements may, they share its whole width; where to less, a gap is left.
    """
    totals = [0.0] * len(values)
    for value, parent in zip(values, parents, strict=True):
        if parent is not None:
            totals[parent] += value
    placed: list[Rectangle] = []
    used: dict[int, float] = {}
    for value, parent in zip(values, parents, strict=True):
        if parent is None:
            placed.append(Rectangle(x0=0.0, x1=1.0, depth=0))
            continue
        outer, whole = placed[parent], max(values[parent], totals[parent])
        start = used.get(parent, outer.x0)
        # The bound keeps rounding from pushing a child over its parent's edge.
        end = min(start + (outer.x1 - outer.x0) * (value / whole if whole else 0.0), outer.x1)
        used[parent] = end
        placed.append(Rectangle(x0=min(start, end), x1=end, depth=outer.depth + 1))
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
