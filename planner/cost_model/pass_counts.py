"""What a pass through a model has besides the work of its components: calls, code, and bytes that displace others."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.containers import container_shares, embedding_of
from planner.cost_model.estimates import Floats
from planner.cost_model.features import family_of
from planner.cost_model.traffic import TABLE_KINDS, displaced_bytes, kept_share
from profiles.component import Component, Work

__all__ = ["COUNTS", "PassCounts", "code_distances", "joined", "pass_counts"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PassCounts:
    """What a context weighs, of components or of sums of them; arrays of shape [N].

    `families` is 1 for the first component of each, `code_distance` how many others ran since (see `code_distances`;
    within each embedding, and within all that is of none). Bytes are of all components but tables (`traffic_bytes`, of
    which `kept_bytes` is what a cache holds), or of tables (`displaced_bytes`); see `traffic`.
    """

    components: Floats
    containers: Floats
    families: Floats
    code_distance: Floats
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
    families = [family_of(component) for component in components]
    firsts = np.zeros(len(paths))
    firsts[list({family: place for place, family in reversed(list(enumerate(families)))}.values())] = 1.0
    runs: dict[str, list[int]] = {}
    for place, path in enumerate(paths):
        runs.setdefault(embedding_of(path), []).append(place)
    distance_P = np.zeros(len(paths))
    for places in runs.values():
        distance_P[places] = code_distances([families[place] for place in places])
    pairs = zip(components, works, strict=True)
    traffic_P: Floats = np.array([0.0 if one.kind in TABLE_KINDS else work.bytes_moved for one, work in pairs])
    return PassCounts(
        components=np.ones(len(paths)),
        containers=container_shares(paths),
        families=firsts,
        code_distance=distance_P,
        traffic_bytes=traffic_P,
        kept_bytes=traffic_P * kept_share(traffic_P.sum()),
        displaced_bytes=displaced_bytes(components, works),
    )


def code_distances(families: Sequence[str]) -> list[int]:
    """How many other families run between each component and the one of its own family before it, round and round.

    The reuse distance of Mattson et al. (1970), of code in place of pages: the farther, the colder.
    """
    last: dict[str, int] = {}
    distances: list[int] = []
    for place, family in enumerate((*families, *families)):
        if place >= len(families):
            distances.append(len(set((*families, *families)[last[family] + 1 : place])))
        last[family] = place
    return distances


def joined(parts: Sequence[PassCounts]) -> PassCounts:
    """The rows of all, one after the other."""
    return PassCounts(
        **{name: np.concatenate([np.zeros(0), *(getattr(part, name) for part in parts)]) for name in COUNTS}
    )
