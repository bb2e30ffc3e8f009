"""An assignment being built: each unit's option, the places of its items, and what every rank then carries."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.distributed.search.options import EVERYWHERE, NODE
from planner.distributed.search.problem import Problem

__all__ = ["UNPLACED", "Assignment"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
UNPLACED = -1
_NOWHERE: Integers = np.zeros(0, dtype=np.int64)


class Assignment:
    """Options [U] and places of items per unit: ranks, nodes for items that take whole nodes, nothing for EVERYWHERE.

    `load_P` is in ms, `bytes_PT` per rank and tier, `node_bytes_HT` per node and tier.
    """

    def __init__(self, problem: Problem) -> None:
        tiers = len(problem.capacities.rank_T)
        self.problem = problem
        self.option_U = np.full(problem.units, UNPLACED, dtype=np.int64)
        self.places_U: list[Integers] = [_NOWHERE] * problem.units
        self.load_P = np.zeros(problem.ranks)
        self.bytes_PT = np.zeros((problem.ranks, tiers))
        self.node_bytes_HT = np.zeros((problem.nodes, tiers))

    @property
    def slowest_ms(self) -> float:
        """The greatest load."""
        return float(self.load_P.max())

    def copy(self) -> "Assignment":
        """The same assignment, to be changed on its own."""
        twin = Assignment(self.problem)
        twin.option_U, twin.places_U = self.option_U.copy(), list(self.places_U)
        twin.load_P, twin.bytes_PT = self.load_P.copy(), self.bytes_PT.copy()
        twin.node_bytes_HT = self.node_bytes_HT.copy()
        return twin

    def put(self, unit: int, option: int, places: Integers) -> None:
        """Place a unit that is not placed."""
        self.option_U[unit], self.places_U[unit] = option, places
        self._add(option, places, 1.0)

    def put_ranks(self, units: Sequence[int], options: Integers, places: Sequence[Integers]) -> None:
        """Place many units at once whose items take single ranks."""
        if not len(units):
            return
        table, tiers = self.problem.options, self.bytes_PT.shape[1]
        counts = table.count_OG[options].ravel()
        ranks = np.concatenate(places)
        bytes_IT = np.repeat(table.bytes_OGT[options].reshape(-1, tiers), counts, axis=0)
        self.load_P += np.bincount(ranks, np.repeat(table.ms_OG[options].ravel(), counts), self.problem.ranks)
        np.add.at(self.bytes_PT, ranks, bytes_IT)
        np.add.at(self.node_bytes_HT, ranks // self.problem.devices, bytes_IT)
        self.option_U[units] = options
        for unit, place in zip(units, places, strict=True):
            self.places_U[unit] = place

    def take(self, unit: int) -> tuple[int, Integers]:
        """Remove a placed unit, and give its option and places."""
        option, places = int(self.option_U[unit]), self.places_U[unit]
        self.option_U[unit], self.places_U[unit] = UNPLACED, _NOWHERE
        self._add(option, places, -1.0)
        return option, places

    def ranks_of(self, option: int, places: Integers) -> Integers | slice:
        """The ranks that items at these places take, item by item; all for EVERYWHERE."""
        kind = self.problem.options.kind_O[option]
        if kind == EVERYWHERE:
            return slice(None)
        if kind == NODE:
            devices = self.problem.devices
            ranks: Integers = (places[:, None] * devices + np.arange(devices)).ravel()
            return ranks
        return places

    def ms_of(self, option: int) -> Floats:
        """What the option adds to each of `ranks_of`."""
        items = self.problem.item_ms(option)
        return np.repeat(items, self.problem.devices) if self.problem.options.kind_O[option] == NODE else items

    def _add(self, option: int, places: Integers, sign: float) -> None:
        kind, items_IT = self.problem.options.kind_O[option], self.problem.item_bytes(option)
        ranks = self.ranks_of(option, places)
        self.load_P[ranks] += sign * self.ms_of(option)
        devices = self.problem.devices
        if kind == EVERYWHERE:
            self.bytes_PT += sign * items_IT
            self.node_bytes_HT += sign * devices * items_IT
        elif kind == NODE:
            self.bytes_PT[ranks] += sign * np.repeat(items_IT, devices, axis=0)
            self.node_bytes_HT[places] += sign * devices * items_IT
        else:
            self.bytes_PT[ranks] += sign * items_IT
            np.add.at(self.node_bytes_HT, places // devices, sign * items_IT)
