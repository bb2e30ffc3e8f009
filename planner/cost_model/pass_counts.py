"""What a pass through a model has besides the work of its components: calls, code, and bytes that displace others."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.containers import container_shares
from planner.cost_model.estimates import Floats
from planner.cost_model.features import family_of
from planner.cost_model.traffic import TABLE_KINDS, displaced_bytes, kept_share
from profiles.component import Component, Work

__all__ = ["COUNTS", "PassCounts", "joined", "pass_counts"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PassCounts:
    """What a context weighs, of components or of sums of them; arrays of shape [N].

    `families` is 1 for the first component of each, and bytes are of all components but tables (`traffic_bytes`, of
    which `kept_bytes` is what a cache holds), or of tables (`displaced_bytes`); see `traffic`.
    """

    components: Floats
    containers: Floats
    families: Floats
    traffic_bytes: Floats
    kept_bytes: Floats
    displaced_bytes: Floats

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> "PassCounts":
        """Some of the rows, or all in another order."""
        return PassCounts(**{name: getattr(self, name)[rows] for name in COUNTS})

    def sum(self) -> "PassCounts":
        """[1]: all rows together."""
        return PassCounts(**{name: getattr(self, name).sum(keepdims=True) for name in COUNTS})

    def columns(self) -> tuple[Floats, ...]:
        """Each count, in the order of `COUNTS`."""
        return tuple(getattr(self, name) for name in COUNTS)


COUNTS = tuple(one.name for one in fields(PassCounts))


def pass_counts(paths: Sequence[str], components: Sequence[Component], works: Sequence[Work]) -> PassCounts:
    """[P]: the counts of each component of a pass, in the order in which they run."""
    seen: set[str] = set()
    firsts: list[float] = []
    for component in components:
        family = family_of(component)
        firsts.append(float(family not in seen))
        seen.add(family)
    pairs = zip(components, works, strict=True)
    traffic_P: Floats = np.array([0.0 if one.kind in TABLE_KINDS else work.bytes_moved for one, work in pairs])
    return PassCounts(
        components=np.ones(len(paths)),
        containers=container_shares(paths),
        families=np.array(firsts),
        traffic_bytes=traffic_P,
        kept_bytes=traffic_P * kept_share(traffic_P.sum()),
        displaced_bytes=displaced_bytes(components, works),
    )


def joined(parts: Sequence[PassCounts]) -> PassCounts:
    """The rows of all, one after the other."""
    return PassCounts(
        **{name: np.concatenate([np.zeros(0), *(getattr(part, name) for part in parts)]) for name in COUNTS}
    )
