"""A non-dominated evolutionary search over costs, on arrays: each generation is thousands of candidates at once.

Ranks, crowding and tournaments are those of NSGA-II (Deb et al. 2002, doi 10.1109/4235.996017); those that break a
limit come after all that hold, in order of by how much. Array suffixes: N candidates, G factors, M costs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.search.accuracy_model import Floats
from planner.search.dominance import crowding_distances, non_domination_ranks
from planner.search.factor_moves import FactorMoves
from planner.search.factors import Places
from planner.search.search_space import SearchSpace
from profiles.errors import InputError

__all__ = ["Evolution", "Judged", "evolve"]

# A child takes each factor from either parent, and so often mixes the two choices axis by axis.
_MIXES = 0.1
_FRUITLESS = 3


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Judged:
    """Candidates with their costs (less is better) and by how much they break the limits together, 0 where not."""

    codes_NG: Places
    costs_NM: Floats
    excess_N: Floats

    def __len__(self) -> int:
        return len(self.codes_NG)

    def take(self, places: NDArray[np.intp]) -> "Judged":
        """Some of them."""
        return Judged(codes_NG=self.codes_NG[places], costs_NM=self.costs_NM[places], excess_N=self.excess_N[places])

    def joined(self, other: "Judged") -> "Judged":
        """These, then the others."""
        return Judged(
            codes_NG=np.concatenate((self.codes_NG, other.codes_NG)),
            costs_NM=np.concatenate((self.costs_NM, other.costs_NM)),
            excess_N=np.concatenate((self.excess_N, other.excess_N)),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Evolution:
    """How many parents, how many children of a generation, and when to stop: after so many different candidates."""

    parents: int = 1024
    children: int = 8192
    most: int = 100_000

    def __post_init__(self) -> None:
        if min(self.parents, self.children, self.most) < 1:
            raise InputError(
                "evolution: parents, children and most must be >= 1, but got "
                f"{self.parents}, {self.children}, {self.most}"
            )


def evolve(
    space: SearchSpace,
    judge: Callable[[Places], Judged],
    first_NG: Places,
    options: Evolution,
    rng: np.random.Generator,
) -> Judged:
    """Every different candidate that was judged, beginning with `first_NG`; ends early where nothing new is found.

    The same seed finds the same.
    """
    moves, seen = [FactorMoves(factor=factor) for factor in space.factors], _Seen(space)
    found = judge(seen.new(first_NG)[: options.most])
    generations = [found]
    parents, fruitless = _survivors(found, options.parents), 0
    left = options.most - len(found)
    while left > 0 and fruitless < _FRUITLESS:
        codes_NG = seen.new(_children(parents, moves, options.children, rng))[:left]
        fruitless = 0 if len(codes_NG) else fruitless + 1
        if not len(codes_NG):
            continue
        children = judge(codes_NG)
        generations.append(children)
        left -= len(children)
        parents = _survivors(parents.joined(children), options.parents)
    return Judged(
        codes_NG=np.concatenate([one.codes_NG for one in generations]),
        costs_NM=np.concatenate([one.costs_NM for one in generations]),
        excess_N=np.concatenate([one.excess_N for one in generations]),
    )


def _survivors(judged: Judged, most: int) -> Judged:
    """The best, best first: by limits, then rank, then crowding."""
    holds_N = judged.excess_N <= 0
    rank_N = np.zeros(len(judged), dtype=np.float64)
    rank_N[holds_N] = non_domination_ranks(judged.costs_NM[holds_N], most)
    crowding_N = np.zeros(len(judged))
    crowding_N[holds_N] = _crowding_by_rank(judged.costs_NM[holds_N], rank_N[holds_N])
    order = np.lexsort((-crowding_N, rank_N, judged.excess_N * ~holds_N))
    return judged.take(order[:most])


def _crowding_by_rank(costs_NM: Floats, rank_N: Floats) -> Floats:
    crowding_N = np.zeros(len(costs_NM))
    for rank in np.unique(rank_N).tolist():
        alike = np.flatnonzero(rank_N == rank)
        crowding_N[alike] = crowding_distances(costs_NM[alike])
    return crowding_N


def _children(parents: Judged, moves: Sequence[FactorMoves], count: int, rng: np.random.Generator) -> Places:
    left_NG, right_NG = (parents.codes_NG[_tournament(len(parents), count, rng)] for _ in range(2))
    shape = (count, len(moves))
    codes_NG = np.where(rng.random(shape) < 0.5, left_NG, right_NG)
    mixes_NG = (rng.random(shape) < max(_MIXES, 1 / len(moves) ** 2)) & (left_NG != right_NG)
    changes_NG = rng.random(shape) < 1 / len(moves)
    for g, one in enumerate(moves):
        mixing, changing = np.flatnonzero(mixes_NG[:, g]), np.flatnonzero(changes_NG[:, g])
        codes_NG[mixing, g] = one.mixed(left_NG[mixing, g], right_NG[mixing, g], rng)
        codes_NG[changing, g] = one.mutated(codes_NG[changing, g], rng)
    return codes_NG


def _tournament(size: int, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """The better of two each; parents stand in order, best first."""
    winners: NDArray[np.intp] = rng.integers(0, size, size=(2, count)).min(axis=0)
    return winners


class _Seen:
    """Tells which codes are new, by a 64-bit hash of each: among a million, two collide once in 10 million runs."""

    def __init__(self, space: SearchSpace) -> None:
        rng = np.random.default_rng(0)
        self._odd_G = rng.integers(0, 2**63, size=len(space.factors), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        self._hashes = np.zeros(0, dtype=np.uint64)

    def new(self, codes_NG: Places) -> Places:
        """The codes that were not there before, each once."""
        mixed_NG = codes_NG.astype(np.uint64) * self._odd_G
        mixed_NG ^= mixed_NG >> np.uint64(29)
        hashes, first = np.unique((mixed_NG * self._odd_G[::-1]).sum(axis=1), return_index=True)
        is_new = ~np.isin(hashes, self._hashes, assume_unique=True)
        self._hashes = np.concatenate((self._hashes, hashes[is_new]))
        return codes_NG[np.sort(first[is_new])]
