"""Items that may move alone, as flat arrays beside an assignment: what balancing and memory repair work on."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.distributed.search.assignment import UNPLACED, Assignment
from planner.distributed.search.options import ANYWHERE

__all__ = ["NOTHING", "Items"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
# Stands for no item: moving is swapping with nothing.
NOTHING = -1


class Items:
    """The single-rank items [I] of an assignment, by rank; `swap` keeps the assignment's loads, `settle` its places."""

    def __init__(self, state: Assignment) -> None:
        problem = state.problem
        units = [
            unit
            for unit, option in enumerate(state.option_U.tolist())
            if option != UNPLACED and problem.options.kind_O[option] == ANYWHERE
        ]
        options = state.option_U[units]
        counts = problem.options.count_OG[options]
        tiers = state.bytes_PT.shape[1]
        # A row of zeros at the end is `NOTHING`.
        self.state = state
        self.ms_I = np.append(np.repeat(problem.options.ms_OG[options].ravel(), counts.ravel()), 0.0)
        bytes_IT = np.repeat(problem.options.bytes_OGT[options].reshape(-1, tiers), counts.ravel(), axis=0)
        self.bytes_IT = np.concatenate([bytes_IT, np.zeros((1, tiers))])
        self._largest_T = self.bytes_IT.max(axis=0)
        self.unit_I = np.append(np.repeat(np.array(units, dtype=np.int64), counts.sum(axis=1)), UNPLACED)
        places = [state.places_U[unit] for unit in units]
        self.rank_I = np.concatenate([*places, np.array([UNPLACED])]) if places else np.array([UNPLACED])
        self.has_siblings_I = np.append(np.repeat(counts.sum(axis=1) > 1, counts.sum(axis=1)), False)
        self.on_rank: list[list[int]] = [[] for _ in range(problem.ranks)]
        for item, rank in enumerate(self.rank_I[:-1].tolist()):
            self.on_rank[rank].append(item)
        self._units = units
        self._first_of = np.concatenate([[0], np.cumsum(counts.sum(axis=1))]).astype(np.int64)
        self._index_of = {unit: index for index, unit in enumerate(units)}

    def on(self, ranks: Sequence[int]) -> Integers:
        """The items on these ranks."""
        return np.array([item for rank in ranks for item in self.on_rank[rank]], dtype=np.int64)

    def may_swap(self, item: int, other: int, rank: int, other_rank: int) -> bool:
        """Whether `item` may go from `rank` to `other_rank`, and `other` the other way: siblings, pins and memory."""
        return (
            self._may_lie(item, other_rank)
            and self._may_lie(other, rank)
            and self._has_room(self.bytes_IT[item] - self.bytes_IT[other], rank, other_rank)
        )

    def is_roomy(self) -> bool:
        """Whether every rank and node has room for any item in any tier beside what it holds."""
        state, capacities = self.state, self.state.problem.capacities
        return bool(
            (state.bytes_PT + self._largest_T <= capacities.rank_T).all()
            and (state.node_bytes_HT + self._largest_T <= capacities.node_T).all()
        )

    def has_room(self, item_I: Integers, other_J: Integers, rank: int, rank_J: Integers) -> NDArray[np.bool_]:
        """Which exchanges [I, J] of items on `rank` for others on `rank_J` memory allows; as `may_swap` has it."""
        state, capacities, devices = self.state, self.state.problem.capacities, self.state.problem.devices
        fits_IJ = np.ones((len(item_I), len(other_J)), dtype=np.bool_)
        is_elsewhere_J = rank_J // devices != rank // devices
        for tier in range(self.bytes_IT.shape[1]):
            gets_IJ = self.bytes_IT[item_I, tier][:, None] - self.bytes_IT[other_J, tier][None, :]
            left_J = capacities.rank_T[tier] - state.bytes_PT[rank_J, tier]
            left = capacities.rank_T[tier] - state.bytes_PT[rank, tier]
            node_J = capacities.node_T[tier] - state.node_bytes_HT[rank_J // devices, tier]
            node = capacities.node_T[tier] - state.node_bytes_HT[rank // devices, tier]
            left_J = np.where(is_elsewhere_J, np.minimum(left_J, node_J), left_J)
            own_left_J = np.where(is_elsewhere_J, min(left, node), left)
            fits_IJ &= (gets_IJ <= 0) | (gets_IJ <= left_J)
            fits_IJ &= (gets_IJ >= 0) | (-gets_IJ <= own_left_J)
        return fits_IJ

    def swap(self, item: int, other: int, rank: int, other_rank: int) -> None:
        """Exchange two items, either of which may be `NOTHING`."""
        state, devices = self.state, self.state.problem.devices
        ms, bytes_T = self.ms_I[item] - self.ms_I[other], self.bytes_IT[item] - self.bytes_IT[other]
        state.load_P[rank] -= ms
        state.load_P[other_rank] += ms
        state.bytes_PT[rank] -= bytes_T
        state.bytes_PT[other_rank] += bytes_T
        state.node_bytes_HT[rank // devices] -= bytes_T
        state.node_bytes_HT[other_rank // devices] += bytes_T
        for moved, source, target in ((item, rank, other_rank), (other, other_rank, rank)):
            if moved != NOTHING:
                self.on_rank[source].remove(moved)
                self.on_rank[target].append(moved)
                self.rank_I[moved] = target

    def settle(self) -> None:
        """Write the places back to the assignment."""
        for index, unit in enumerate(self._units):
            self.state.places_U[unit] = self.rank_I[self._first_of[index] : self._first_of[index + 1]].copy()

    def _may_lie(self, item: int, rank: int) -> bool:
        if item == NOTHING:
            return True
        unit = int(self.unit_I[item])
        allowed_P = self.state.problem.allowed(unit)
        if allowed_P is not None and not allowed_P[rank]:
            return False
        if not self.has_siblings_I[item]:
            return True
        index = self._index_of[unit]
        return rank not in self.rank_I[self._first_of[index] : self._first_of[index + 1]]

    def _has_room(self, bytes_T: Floats, rank: int, other_rank: int) -> bool:
        """Whether both ranks and nodes hold what they get; one that gets less may stay above its capacity."""
        state, capacities = self.state, self.state.problem.capacities
        node, other_node = rank // state.problem.devices, other_rank // state.problem.devices
        gets, other_gets = bytes_T < 0, bytes_T > 0
        fits = ~gets | (state.bytes_PT[rank] - bytes_T <= capacities.rank_T)
        fits &= ~other_gets | (state.bytes_PT[other_rank] + bytes_T <= capacities.rank_T)
        if node != other_node:
            fits &= ~gets | (state.node_bytes_HT[node] - bytes_T <= capacities.node_T)
            fits &= ~other_gets | (state.node_bytes_HT[other_node] + bytes_T <= capacities.node_T)
        return bool(fits.all())
