"""Every predicted cost of candidates by column, from the cost model and what the study says of its devices.

Array suffixes: N candidates, R rows of alike queries, K sizes at which latency is predicted.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.batch_memory import CandidateMemory
from planner.cost_model.batch_prediction import CandidateCosts, CandidatePredictor
from planner.cost_model.candidates import Candidates
from planner.cost_model.composition import CostModel
from planner.cost_model.scatter import Scatter
from planner.search.accuracy_model import Floats
from planner.search.capacity_estimate import QueryRows, capacity_qps
from planner.search.space_columns import SpaceColumns
from profiles.errors import InputError
from profiles.units import MS_PER_S, SECONDS_PER_HOUR

__all__ = ["COSTS", "CostColumns", "JudgedDevice", "ServedLoad"]

# Names of what is always there, and of what is there where it is asked for.
COSTS = ("latency_ms", "parameter_bytes", "flops")
_ON_REQUEST = (
    "capacity_qps",
    "cost_per_million",
    "energy_j",
    "latency_p50_ms",
    "latency_p99_ms",
    "memory_share",
    "peak_memory_bytes",
)
# So many standard deviations above the middle lies the 99th percentile of a normal distribution.
_P99 = 2.3263
_MILLION = 1e6


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedDevice:
    """A device of the study: queries served at a time, and what is known of its memory, price and power."""

    name: str
    servers: int = 1
    memory_bytes: int | None = None
    price_per_hour: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ServedLoad:
    """The queries that capacity is asked for: rows of alike ones, with their sizes in samples."""

    size_R: Floats
    rows: QueryRows


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CostColumns:
    """A `ColumnPricer`. A candidate is judged on its own device and batch where the space offers them, else on these.

    `wanted` are the costs beside `COSTS` that are asked for: latency percentiles of single queries by the device's
    scatter, `energy_j` of a query by its busy power, `cost_per_million` samples at its price while busy, `memory_share`
    of its memory that parameters take, `peak_memory_bytes` of parameters and activations, `capacity_qps` by queueing
    formulas.

    Raises:
        InputError: a cost that nothing prices, or a device without what it takes.
        UnknownNameError: a device that the cost model does not have.
    """

    cost_model: CostModel
    devices: Mapping[str, JudgedDevice]
    device: str
    batch: int
    zipf: Mapping[str, float] | float = 0.0
    wanted: Collection[str] = ()
    load: ServedLoad | None = None
    _predictors: dict[tuple[str, int], CandidatePredictor] = field(init=False, default_factory=dict)
    _memories: dict[int, CandidateMemory] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        known = (*COSTS, *_ON_REQUEST)
        if unknown := sorted(set(self.wanted) - set(known)):
            raise InputError(f"search: nothing prices {', '.join(unknown)}; known: {', '.join(sorted(known))}")
        if "capacity_qps" in self.wanted and self.load is None:
            raise InputError("search: capacity_qps needs a workload")

    def __call__(self, columns: SpaceColumns) -> dict[str, Floats]:
        """The costs of each candidate, by name."""
        found = {name: np.empty(len(columns)) for name in dict.fromkeys((*COSTS, *self.wanted))}
        for device, batch, rows in self._places(columns):
            candidates = columns.candidates if rows is None else _taken(columns.candidates, rows)
            for name, values in self._priced(candidates, device, batch).items():
                found[name][slice(None) if rows is None else rows] = values
        return found

    def _places(self, columns: SpaceColumns) -> Iterator[tuple[str, int, NDArray[np.intp] | None]]:
        """Each device and batch with the candidates that are judged there, None for all."""
        if not len(columns):
            return
        devices, batches = columns.devices or (self.device,), columns.batches or (self.batch,)
        if len(devices) == len(batches) == 1:
            yield devices[0], batches[0], None
            return
        key_N = columns.device_N * len(batches) + columns.batch_N
        for key in np.unique(key_N).tolist():
            device, batch = divmod(key, len(batches))
            yield devices[device], batches[batch], np.flatnonzero(key_N == key)

    def _priced(self, candidates: Candidates, device: str, batch: int) -> dict[str, Floats]:
        costs = self._predictor(device, batch).predict(candidates)
        scatter = self.cost_model.device(device).scatter
        found = {
            "latency_ms": costs.mean_ms,
            "parameter_bytes": costs.parameter_bytes.astype(np.float64),
            "flops": costs.flops,
            "latency_p50_ms": costs.mean_ms * scatter.over_label(0.0),
            "latency_p99_ms": costs.mean_ms * scatter.over_label(_P99),
        }
        if "energy_j" in self.wanted:
            found["energy_j"] = _energy_j(costs)
        if "cost_per_million" in self.wanted:
            price = self._device(device).price_per_hour
            if price is None:
                raise InputError(f"devices: {device!r} has no price_per_hour, which cost_per_million needs")
            found["cost_per_million"] = price / SECONDS_PER_HOUR * costs.mean_ms / MS_PER_S * _MILLION / batch
        if "memory_share" in self.wanted:
            found["memory_share"] = found["parameter_bytes"] / self._memory_bytes(device)
        if "peak_memory_bytes" in self.wanted:
            memory = self._memories.setdefault(batch, CandidateMemory(batch))
            found["peak_memory_bytes"] = found["parameter_bytes"] + memory.activation_bytes(candidates)
        if "capacity_qps" in self.wanted and self.load is not None:
            found["capacity_qps"] = self._capacity(self.load, candidates, device, scatter)
        return {name: found[name] for name in dict.fromkeys((*COSTS, *self.wanted))}

    def _capacity(self, load: ServedLoad, candidates: Candidates, device: str, scatter: Scatter) -> Floats:
        sizes_K = _sizes(load.size_R)
        latency_NK = np.stack(
            [self._predictor(device, size).predict(candidates).mean_ms for size in sizes_K.tolist()], axis=1
        )
        # A larger query never takes less time, as in a plan's tables.
        logs_NK = np.log(np.maximum.accumulate(latency_NK, axis=1))
        service_NR = scatter.mean_over_label * np.exp(logs_NK @ _between(sizes_K, load.size_R))
        return capacity_qps(service_NR, load.rows, servers=self._device(device).servers, sigma=scatter.sigma)

    def _predictor(self, device: str, batch: int) -> CandidatePredictor:
        key = (device, batch)
        if key not in self._predictors:
            self._predictors[key] = CandidatePredictor(self.cost_model, device, batch, self.zipf)
        return self._predictors[key]

    def _device(self, name: str) -> JudgedDevice:
        return self.devices.get(name, JudgedDevice(name=name))

    def _memory_bytes(self, device: str) -> int:
        memory = self._device(device).memory_bytes
        if memory is None:
            raise InputError(f"devices: the memory of {device!r} is unknown, which memory_share needs")
        return memory


def _energy_j(costs: CandidateCosts) -> Floats:
    if costs.energy_j is None:
        raise InputError(f"devices: {costs.device!r} has no power_w, which energy_j needs")
    return costs.energy_j


def _taken(candidates: Candidates, rows: NDArray[np.intp]) -> Candidates:
    return Candidates(
        features=candidates.features,
        dense_features=candidates.dense_features,
        embeddings=candidates.embeddings,
        dense=candidates.dense,
        embedding_NF=candidates.embedding_NF[rows],
        dense_N=candidates.dense_N[rows],
    )


def _sizes(size_R: Floats) -> NDArray[np.int64]:
    """Powers of four up to the largest query, and that one."""
    largest = max(1, math.ceil(float(size_R.max())))
    powers = [4**i for i in range(largest.bit_length()) if 4**i < largest]
    return np.array([*powers, largest], dtype=np.int64)


def _between(sizes_K: NDArray[np.int64], size_R: Floats) -> Floats:
    """[K, R]: the weights with which logarithms at sizes K make those at sizes R, evenly in the logarithm of size."""
    logs_K, logs_R = np.log(sizes_K.astype(np.float64)), np.log(size_R)
    return np.stack([np.interp(logs_R, logs_K, unit_K) for unit_K in np.eye(len(logs_K))])
