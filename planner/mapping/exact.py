"""The best mapping there is: an integer program over candidates and devices, with the fluid bound as its objective.

Chosen are the candidates that each device holds, within its memory, and the share of the queries of each size that goes
to each of them, within the devices' time. What is highest is the rate of correct predictions whose service holds the
SLA: the bound that no policy on the chosen paths can pass. Queues are left out, as in `serving_sim.fluid_bound`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.mapping.fluid_program import FluidProgram
from planner.mapping.fluid_solver import TIME_LIMIT_S, FluidSolver, Solved
from profiles.errors import InfeasibleError, MeasurementError, UnknownNameError

__all__ = ["FluidMapping", "PathShare", "best_mapping", "least_memory_bytes", "value_of"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PathShare:
    """A candidate on a device, its share of all queries, and the share of the device's time that these take."""

    device: str
    candidate: str
    parameter_bytes: int
    query_share: float
    time_share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FluidMapping:
    """What a mapping could serve at best, in correct predictions per second within the SLA.

    No mapping could serve more than `bound_per_s`: above `correct_per_s` where the solver's time ended. `served_share`
    is of the queries, `accuracy` of the samples that are served.
    """

    shares: tuple[PathShare, ...]
    devices: tuple[str, ...]
    correct_per_s: float
    bound_per_s: float
    served_share: float
    accuracy: float

    @property
    def chosen(self) -> dict[str, tuple[str, ...]]:
        """The candidates on each device, the most accurate first."""
        return {device: tuple(one.candidate for one in self.shares if one.device == device) for device in self.devices}

    def bytes_on(self, device: str) -> int:
        """What the chosen candidates take of a device."""
        return sum(one.parameter_bytes for one in self.shares if one.device == device)


def best_mapping(program: FluidProgram, memory_bytes: Mapping[str, int] | None = None) -> FluidMapping:
    """The mapping of the highest fluid bound; `memory_bytes` stands in for devices' budgets, by name.

    Raises:
        InfeasibleError: no candidate fits any device; says by how many bytes.
        MeasurementError: the solver found nothing within its time.
    """
    memory_D = program.memory_bytes_D.copy()
    for name, budget in (memory_bytes or {}).items():
        memory_D[program.device_index(name)] = budget
    _require_some_fit(program, memory_D)
    return _solved(FluidSolver(program, memory_D), None)


def value_of(program: FluidProgram, chosen: Mapping[str, Iterable[str]]) -> FluidMapping:
    """What candidates chosen for each device could serve at best, whether they fit its memory or not.

    Raises:
        UnknownNameError: a device or a candidate that is not there.
    """
    places = {one.name: place for place, one in enumerate(program.candidates)}
    wanted = set()
    for device, names in chosen.items():
        for name in names:
            if name not in places:
                raise UnknownNameError("candidate", name, places)
            wanted.add((program.device_index(device), places[name]))
    bytes_D = np.zeros(len(program.devices), dtype=np.int64)
    for where, which in wanted:
        bytes_D[where] += program.candidates[which].parameter_bytes
    held_D = np.maximum(bytes_D, 1)
    least_P = np.array([place.least_bytes for place in program.places])
    most_P = np.array([place.most_bytes for place in program.places])
    held_P = held_D[[place.device for place in program.places]]
    is_there_P = (least_P <= held_P) & (held_P <= most_P)
    pairs = zip(program.device_A.tolist(), program.candidate_A.tolist(), strict=True)
    held_A = np.array([pair in wanted for pair in pairs], dtype=np.bool_) & is_there_P[program.place_A]
    return _solved(FluidSolver(program, held_D), held_A)


def least_memory_bytes(program: FluidProgram, device: str, correct_per_s: float) -> int | None:
    """The fewest bytes on `device` with which some mapping serves so much, the others' budgets as they are.

    None where no memory would do.

    Raises:
        UnknownNameError: a device that is not there.
    """
    where = program.device_index(device)
    memory_D = program.memory_bytes_D.copy()
    memory_D[where] = max(place.most_bytes for place in program.places if place.device == where)
    return FluidSolver(program, memory_D).fewest_bytes(where, correct_per_s)


def _require_some_fit(program: FluidProgram, memory_bytes_D: NDArray[np.int64]) -> None:
    smallest = min(program.candidates, key=lambda one: (one.parameter_bytes, one.name))
    missing = smallest.parameter_bytes - int(memory_bytes_D.max())
    if missing > 0:
        budgets = zip(program.devices, memory_bytes_D.tolist(), strict=True)
        raise InfeasibleError(
            f"mapping: no candidate fits any device ({', '.join(f'{d.name} {b:,} bytes' for d, b in budgets)}); "
            f"the smallest is {smallest.name} with {smallest.parameter_bytes:,} bytes: {missing:,} too many"
        )


def _solved(solver: FluidSolver, held_A: NDArray[np.bool_] | None) -> FluidMapping:
    found = solver.most_correct(held_A)
    if found is None:
        raise MeasurementError(f"mapping: no mapping was found within {TIME_LIMIT_S:g} s")
    solved, bound_per_s = found
    correct_per_s = float(solver.correct_K @ solved.served_K)
    samples_per_s = float(solver.samples_K @ solved.served_K)
    shares = _shares(solver, solved)
    return FluidMapping(
        shares=shares,
        devices=tuple(device.name for device in solver.program.devices),
        correct_per_s=correct_per_s,
        bound_per_s=max(bound_per_s, correct_per_s),
        served_share=sum(one.query_share for one in shares),
        accuracy=correct_per_s / samples_per_s if samples_per_s else 0.0,
    )


def _shares(solver: FluidSolver, solved: Solved) -> tuple[PathShare, ...]:
    program = solver.program
    rate_R, count = program.demand.rate_per_ms_R, len(program.candidate_A)
    queries_K = rate_R[solver.row_K] * solved.served_K / rate_R.sum()
    query_A = np.bincount(solver.pair_K, queries_K, minlength=count)
    time_A = np.bincount(solver.pair_K, solver.time_K * solved.served_K, minlength=count)
    held = sorted(np.flatnonzero(solved.held_A).tolist(), key=lambda a: (-program.accuracy_A[a], a))
    return tuple(
        PathShare(
            device=program.devices[program.device_A[a]].name,
            candidate=program.candidates[program.candidate_A[a]].name,
            parameter_bytes=int(program.bytes_A[a]),
            query_share=float(query_A[a]),
            time_share=float(time_A[a]),
        )
        for a in held
    )
