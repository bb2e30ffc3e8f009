"""Two reviews side by side: what each component adds to the difference of the models."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from planner.review.pricing import ComponentCost, DeviceReview, ModelReview

__all__ = ["ComponentDiff", "DeviceDiff", "MatchedBy", "ReviewDiff", "compare_reviews"]

MatchedBy = Literal["path", "kind and shape", "place"]
Key = Callable[[ComponentCost], Hashable]


@dataclass(frozen=True, kw_only=True, slots=True)
class ComponentDiff:
    """A component of both models, or of one where the other's side is None; `by` tells how the two were matched."""

    before: ComponentCost | None
    after: ComponentCost | None
    by: MatchedBy | None = None

    @property
    def path(self) -> str:
        """Where it stands after, or where it stood."""
        row = self.after or self.before
        return row.path if row else ""

    @property
    def kind(self) -> str:
        """Its kind after, or before."""
        row = self.after or self.before
        return row.kind if row else ""

    @property
    def change_ms(self) -> float:
        """How much more latency it has after."""
        return self._change("latency_ms")

    def change(self, name: str) -> float:
        """How much more of a figure it has after; what is missing on a side has none."""
        return self._change(name)

    def to_object(self) -> dict[str, Any]:
        """A flat row."""
        shown = self.after or self.before
        return {
            "path": self.path,
            "before_path": self.before.path if self.before else None,
            "kind": self.kind,
            "shape": shown.shape if shown else "",
            "before_shape": self.before.shape if self.before else None,
            "size": shown.size if shown else "",
            "before_size": self.before.size if self.before else None,
            "matched_by": self.by,
            "before_ms": self.before.latency_ms if self.before else None,
            "after_ms": self.after.latency_ms if self.after else None,
            "change_ms": self.change_ms,
            "change_flops": self._change("flops"),
            "change_bytes_moved": self._change("bytes_moved"),
            "change_parameter_bytes": self._change("parameter_bytes"),
            "change_cost_per_million": self._change("cost_per_million"),
        }

    def _change(self, name: str) -> float:
        old, new = (getattr(side, name) or 0.0 if side else 0.0 for side in (self.before, self.after))
        return float(new - old)


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceDiff:
    """Both models on one device, the component that adds most to the difference first.

    The changes of components sum to that of the models. `is_certain` says whether the intervals of the two totals do
    not meet.
    """

    device: str
    before: DeviceReview
    after: DeviceReview
    components: tuple[ComponentDiff, ...]

    @property
    def change_ms(self) -> float:
        """How much more latency there is after."""
        return self.after.latency_ms - self.before.latency_ms

    @property
    def is_certain(self) -> bool:
        """Whether the 90 % intervals are apart."""
        return self.after.low_ms > self.before.high_ms or self.after.high_ms < self.before.low_ms


@dataclass(frozen=True, kw_only=True, slots=True)
class ReviewDiff:
    """`before` is what is compared against, `after` the target."""

    before: ModelReview
    after: ModelReview
    devices: tuple[DeviceDiff, ...]

    def to_object(self) -> dict[str, Any]:
        """JSON-ready, without the reviews themselves."""
        totals = ("parameter_bytes", "peak_bytes", "flops", "bytes_moved")
        return {
            "against": self.before.name,
            "batch": self.before.batch,
            "before": {name: asdict(self.before)[name] for name in totals},
            "after": {name: asdict(self.after)[name] for name in totals},
            "devices": [
                {
                    "name": one.device,
                    "before_ms": one.before.latency_ms,
                    "after_ms": one.after.latency_ms,
                    "change_ms": one.change_ms,
                    "is_certain": one.is_certain,
                    "components": [row.to_object() for row in one.components],
                }
                for one in self.devices
            ],
        }


def compare_reviews(before: ModelReview, after: ModelReview) -> ReviewDiff:
    """Match components of two reviews of the same devices: by path and kind, by kind and shape, then by path."""
    olds = {one.name: one for one in before.devices}
    return ReviewDiff(
        before=before,
        after=after,
        devices=tuple(
            DeviceDiff(device=one.name, before=olds[one.name], after=one, components=_matched(olds[one.name], one))
            for one in after.devices
        ),
    )


_PASSES: tuple[tuple[MatchedBy, Key], ...] = (
    ("path", lambda row: (row.path, row.kind)),
    ("kind and shape", lambda row: (row.kind, row.shape, row.dtype)),
    ("place", lambda row: row.path),
)


def _matched(before: DeviceReview, after: DeviceReview) -> tuple[ComponentDiff, ...]:
    old: Sequence[ComponentCost] = before.components
    found: dict[int, ComponentDiff] = {}
    for by, key in _PASSES:
        waiting: dict[Hashable, list[ComponentCost]] = defaultdict(list)
        for row in old:
            waiting[key(row)].append(row)
        for i, row in enumerate(after.components):
            if i not in found and (alike := waiting[key(row)]):
                found[i] = ComponentDiff(before=alike.pop(0), after=row, by=by)
        taken = {id(one.before) for one in found.values()}
        old = [row for row in old if id(row) not in taken]
    rows = [found.get(i) or ComponentDiff(before=None, after=row) for i, row in enumerate(after.components)]
    rows += [ComponentDiff(before=row, after=None) for row in old]
    return tuple(sorted(rows, key=lambda row: -abs(row.change_ms)))
