"""Where compression or a better kernel pays: modules by their share of the time against what their roofline allows."""

from collections.abc import Sequence
from dataclasses import dataclass

from profiles.analyses.contributions import own_values
from profiles.analyses.roofline import Roofline, achieved_roofline, published_roofline
from profiles.errors import InputError
from profiles.model_profile import SELF_KIND
from profiles.records import ComponentProfile

__all__ = ["Hotspot", "rank_hotspots"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Hotspot:
    """A module's time in the model outside the modules in it, and the least that its work there would take.

    `achieved` is the second over the first, None where neither FLOPs nor bytes are known; it may be above 1 where what
    a module reads lies in a cache, or where the roofline is a lower bound.
    """

    path: str
    class_name: str
    latency_ms: float
    share: float
    attainable_ms: float | None
    achieved: float | None

    @property
    def score(self) -> float:
        """The share of the model's time that lies above the roofline; all of it where no roofline is known."""
        return self.share * (1.0 - min(self.achieved or 0.0, 1.0))


def rank_hotspots(rows: Sequence[ComponentProfile], roofline: Roofline | None = None) -> tuple[Hotspot, ...]:
    """The forward pass's modules, the greatest score first.

    Without a `roofline` each row's device and dtype are looked up in the catalogue; where that has no figures, as for
    an unmeasured CPU, it is the best that any module of the profile achieved.

    Raises:
        InputError: the model was not timed, or there is no roofline of any kind.
    """
    modules = [row for row in rows if row.phase == "forward" and row.kind != SELF_KIND]
    latency_ms, flops = own_values(modules, "latency_ms"), own_values(modules, "flops")
    total_ms = sum(latency_ms.values())
    if total_ms <= 0:
        raise InputError("hotspots: the profile has no times of modules in the model")
    found = []
    best: Roofline | None = None
    for row in modules:
        place = row.path, row.phase
        chosen = roofline or published_roofline(row.device, row.dtype)
        if chosen is None:
            chosen = best = best or achieved_roofline(modules)
        own_flops = flops[place] if row.flops is not None else None
        attainable_ms = chosen.attainable_ms(own_flops, row.bytes_moved if row.kind == "leaf" else None)
        own_ms = latency_ms[place]
        found.append(
            Hotspot(
                path=row.path,
                class_name=row.class_name,
                latency_ms=own_ms,
                share=max(own_ms, 0.0) / total_ms,
                attainable_ms=attainable_ms,
                achieved=None if attainable_ms is None or own_ms <= 0 else attainable_ms / own_ms,
            )
        )
    return tuple(sorted(found, key=lambda spot: -spot.score))
