"""What any choice of candidates for devices could serve: memory, service times and demand as arrays.

Suffixes: R rows of queries, A candidates on places, P places, D devices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.composition import CostModel
from planner.cost_model.estimates import HasResidencyLimits
from planner.mapping.candidate import TrainedCandidate
from planner.mapping.demand import Demand, Floats, demand_of
from planner.mapping.latency_tables import latency_table
from planner.study import DeviceSection
from profiles.errors import UnknownNameError
from serving_sim.paths import service_ms
from serving_sim.plan import Workload

__all__ = ["FluidProgram", "Place", "build_program"]

Index = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A device while it holds at least and at most so many bytes: between them, the same path takes equally long."""

    device: int
    least_bytes: int
    most_bytes: int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FluidProgram:
    """Candidate `candidate_A` on place `place_A` serves a query of row r in `service_ms_RA` ms, be its SLA held or not.

    Places go beyond the devices' memory, so that more of it can be asked about. `device_A`, `bytes_A` and `accuracy_A`
    are those of each candidate on a place, `memory_bytes_D` the devices' budgets.
    """

    candidates: tuple[TrainedCandidate, ...]
    devices: tuple[DeviceSection, ...]
    places: tuple[Place, ...]
    demand: Demand
    candidate_A: Index
    place_A: Index
    service_ms_RA: Floats
    device_A: Index = field(init=False)
    bytes_A: NDArray[np.int64] = field(init=False)
    accuracy_A: Floats = field(init=False)
    memory_bytes_D: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        devices = np.array([place.device for place in self.places], dtype=np.intp)
        sizes = np.array([one.parameter_bytes for one in self.candidates], dtype=np.int64)
        accuracies = np.array([one.accuracy for one in self.candidates])
        budgets = np.array([device.memory_bytes for device in self.devices], dtype=np.int64)
        object.__setattr__(self, "device_A", devices[self.place_A])
        object.__setattr__(self, "bytes_A", sizes[self.candidate_A])
        object.__setattr__(self, "accuracy_A", accuracies[self.candidate_A])
        object.__setattr__(self, "memory_bytes_D", budgets)

    def at_load(self, factor: float) -> "FluidProgram":
        """The same devices and queries, of which so many times as many come."""
        demand = replace(self.demand, rate_per_ms_R=self.demand.rate_per_ms_R * factor)
        return replace(self, demand=demand)

    def device_index(self, name: str) -> int:
        """Where the device stands.

        Raises:
            UnknownNameError: there is no such device.
        """
        names = [device.name for device in self.devices]
        if name not in names:
            raise UnknownNameError("device", name, names)
        return names.index(name)


def build_program(
    candidates: Sequence[TrainedCandidate],
    devices: Sequence[DeviceSection],
    cost_model: CostModel,
    workload: Workload,
    zipf: Mapping[str, float] | float = 0.0,
) -> FluidProgram:
    """Price every candidate on every device, once for each amount of memory held at which its latency changes.

    Latencies are those of a plan's tables: means of single queries.

    Raises:
        UnknownNameError: a device that the cost model does not know.
    """
    demand = demand_of(workload)
    all_bytes = sum(one.parameter_bytes for one in candidates)
    places = tuple(
        place
        for position, device in enumerate(devices)
        for place in _places(position, cost_model, device, max(all_bytes, device.memory_bytes))
    )
    columns, candidate_A, place_A = [], [], []
    for which, place in enumerate(places):
        for position, one in enumerate(candidates):
            if one.parameter_bytes > place.most_bytes:
                continue
            device = devices[place.device].name
            table, _, _ = latency_table(
                cost_model, one.model, device, workload.largest_size, zipf, resident_bytes=place.most_bytes
            )
            columns.append(service_ms(table, demand.size_R))
            candidate_A.append(position)
            place_A.append(which)
    return FluidProgram(
        candidates=tuple(candidates),
        devices=tuple(devices),
        places=places,
        demand=demand,
        candidate_A=np.array(candidate_A, dtype=np.intp),
        place_A=np.array(place_A, dtype=np.intp),
        service_ms_RA=np.stack(columns, axis=1) if columns else np.empty((len(demand.size_R), 0)),
    )


def _places(position: int, cost_model: CostModel, device: DeviceSection, most_bytes: int) -> list[Place]:
    model = cost_model.device(device.name)
    limits = model.residency_limits if isinstance(model, HasResidencyLimits) else ()
    ends = [0, *(limit for limit in limits if limit < most_bytes), most_bytes]
    return [Place(device=position, least_bytes=low + 1, most_bytes=high) for low, high in pairwise(ends)]
