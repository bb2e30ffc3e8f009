"""A fluid program as HiGHS takes it.

Variables: what each place holds (0 or 1 per candidate on a place), whether a device is on that place (0 or 1 per
place), and the share of each row of queries that each candidate on a place serves.

Suffixes: R rows of queries, A candidates on places, P places, D devices, K shares of a row on a candidate on a place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.mapping.demand import Floats
from planner.mapping.fluid_program import FluidProgram, Index
from profiles.units import MS_PER_S

__all__ = ["FluidSolver", "Solved"]

Flags = NDArray[np.bool_]
_Rows = tuple[Any, Floats, Floats]

TIME_LIMIT_S = 30.0
_GAP = 1e-7
# Of two mappings alike in what they serve, that of fewer paths and bytes: so little do all paths and all bytes count.
_TIE_WEIGHT = 1e-5
# The solver's tolerances are absolute: shares of memory and of samples are told to it so much larger.
_SCALE = 1e4


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Solved:
    """Which candidates on places are held, the shares that are served, and a cost that no choice goes below."""

    held_A: Flags
    served_K: Floats
    least_cost: float


class FluidSolver:
    """A program under given budgets of memory [D]."""

    def __init__(self, program: FluidProgram, memory_bytes_D: NDArray[np.int64]) -> None:
        self.program = program
        demand = program.demand
        servers_D = np.array([device.servers for device in program.devices], dtype=np.float64)
        self._device_P = np.array([place.device for place in program.places], dtype=np.intp)
        self._least_P = np.array([place.least_bytes for place in program.places])
        most_P = np.array([place.most_bytes for place in program.places])
        self._most_P = np.minimum(most_P, memory_bytes_D[self._device_P])
        self._fits_A = program.bytes_A <= self._most_P[program.place_A]
        in_time_RA = program.service_ms_RA <= demand.sla_ms_R[:, None]
        self.row_K, self.pair_K = np.nonzero(in_time_RA & self._fits_A)
        busy_K = demand.rate_per_ms_R[self.row_K] * program.service_ms_RA[self.row_K, self.pair_K]
        self.time_K: Floats = busy_K / servers_D[program.device_A[self.pair_K]]
        samples_R = demand.size_R * demand.rate_per_ms_R * MS_PER_S
        self.samples_K: Floats = samples_R[self.row_K]
        self.correct_K: Floats = self.samples_K * program.accuracy_A[self.pair_K]
        self._pairs, self._places = len(program.candidate_A), len(program.places)
        self._first = self._pairs + self._places
        self._size = self._first + len(self.row_K)

    def most_correct(self, held_A: Flags | None = None) -> tuple[Solved, float] | None:
        """The choice that serves the most correct predictions per second, and a rate that none can pass.

        With `held_A` the choice is given. None where the solver's time ended with nothing found.
        """
        total = self.program.demand.samples_per_s
        cost = np.zeros(self._size)
        cost[self._first :] = -_SCALE * self.correct_K / total
        cost[: self._pairs] = (
            _SCALE * _TIE_WEIGHT * (self.program.bytes_A / self.program.bytes_A.sum() + 1 / self._pairs)
        )
        solved = self._solve(cost, self._rows(), held_A)
        if solved is None:
            return None
        return solved, (2 * _TIE_WEIGHT - solved.least_cost / _SCALE) * total

    def fewest_bytes(self, device: int, correct_per_s: float) -> int | None:
        """The fewest bytes on a device where at least so much is served; None where it cannot be."""
        on_device_A = self.program.device_A == device
        cost = np.zeros(self._size)
        cost[: self._pairs] = np.where(on_device_A, _SCALE * self.program.bytes_A / self.program.bytes_A.max(), 0.0)
        wanted = np.zeros((1, self._size))
        wanted[0, self._first :] = self.correct_K / correct_per_s
        solved = self._solve(cost, [*self._rows(), (wanted, np.ones(1), np.full(1, np.inf))], None)
        return None if solved is None else int(self.program.bytes_A[solved.held_A & on_device_A].sum())

    def _rows(self) -> list[_Rows]:
        """Constraints, each as a matrix and the least and the most of its product with the variables."""
        program, count = self.program, len(self.row_K)
        ones_K, number_K = np.ones(count), np.arange(count)
        share_K, place_P = self._first + number_K, self._pairs + np.arange(self._places)
        devices, rows = len(program.devices), len(program.demand.size_R)
        held = self._matrix(
            np.append(ones_K, -ones_K), np.tile(number_K, 2), np.concatenate((share_K, self.pair_K)), count
        )
        served = self._matrix(ones_K, self.row_K, share_K, rows)
        busy = self._matrix(self.time_K, program.device_A[self.pair_K], share_K, devices)
        alone = self._matrix(np.ones(self._places), self._device_P, place_P, devices)
        return [
            (held, np.full(count, -np.inf), np.zeros(count)),
            (served, np.zeros(rows), np.ones(rows)),
            (busy, np.zeros(devices), np.ones(devices)),
            (self._bytes_over(self._most_P), np.full(self._places, -np.inf), np.zeros(self._places)),
            (self._bytes_over(self._least_P), np.zeros(self._places), np.full(self._places, np.inf)),
            (alone, np.zeros(devices), np.ones(devices)),
        ]

    def _bytes_over(self, limit_P: NDArray[np.int64]) -> Any:
        """Bytes held on each place, less its limit where the device is on that place."""
        place_A = self.program.place_A
        numbers_P = np.arange(self._places)
        values = np.concatenate((_SCALE * self.program.bytes_A / limit_P[place_A], np.full(self._places, -_SCALE)))
        columns = np.arange(self._first)
        return self._matrix(values, np.concatenate((place_A, numbers_P)), columns, self._places)

    def _matrix(self, values: Floats, rows: Index, columns: Index, count: int) -> Any:
        from scipy.sparse import csr_array

        return csr_array((values, (rows, columns)), shape=(count, self._size))

    def _solve(self, cost: Floats, rows: Sequence[_Rows], held_A: Flags | None) -> Solved | None:
        from scipy.optimize import Bounds, LinearConstraint, milp

        most, least = np.ones(self._size), np.zeros(self._size)
        most[: self._pairs] = self._fits_A
        most[self._pairs : self._first] = self._most_P >= self._least_P
        if held_A is not None:
            most[: self._pairs] = least[: self._pairs] = held_A & self._fits_A
        is_whole = np.zeros(self._size)
        is_whole[: self._first] = 1
        found = milp(
            cost,
            integrality=is_whole,
            bounds=Bounds(least, most),
            constraints=[LinearConstraint(*row) for row in rows],
            options={"time_limit": TIME_LIMIT_S, "mip_rel_gap": _GAP},
        )
        if found.x is None:
            return None
        bound = found.fun if found.mip_dual_bound is None else min(found.mip_dual_bound, found.fun)
        return Solved(
            held_A=found.x[: self._pairs] > 0.5,
            served_K=np.clip(found.x[self._first :], 0.0, 1.0),
            least_cost=float(bound),
        )
