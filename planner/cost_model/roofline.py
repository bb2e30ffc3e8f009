"""The physical part of the model: latency as a sum of an overhead and of work over rates.

    t = overhead + rows * c_row + ids * c_id + tiled flops / rate + bytes / bandwidth(working set)
        + bytes * log(1 + parameters / 1 MiB) * c_miss + what kernels do beyond that (see `kernel_terms`)

The bandwidth falls smoothly where the working set, the bytes that a call touches, outgrows a level of the caches, and
at fractions of it, since others use the caches as well; the `c_miss` term is the address translation of large tables.
All constants are bounded: no rate may exceed the device's limits, so that the sum is positive and grows with the
batch, and none may be absurdly low. Each has a prior, from what such devices usually reach, that leads where the rows
tell little: a level of memory that no row reached costs what it usually does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.cost_model.estimates import Floats
from planner.cost_model.features import BYTES_PER_MIB, CostDrivers
from planner.cost_model.kernel_terms import inner_bytes, kernel_terms, tiled_flops
from profiles.errors import InputError
from profiles.units import MS_PER_S

__all__ = ["PhysicalLimits", "Roofline", "fit_roofline"]

# A call of a nanosecond is none.
_LEAST_OVERHEAD_MS = 1e-6
_SLOWEST_FLOPS_PER_S = 1e8
_SLOWEST_BYTES_PER_S = 1e8
# A random read of a cache line of 64 bytes takes about 100 ns, of which each e-fold of memory is a part.
_SLOWEST_MISSES_PER_S = 2e9
# A dimension of 1 may cost as much as this many of a full tile.
_MOST_LOSS = 64
# The working set leaves a cache over about a doubling either way: associativity and other lines blur the edge.
_EDGE_WIDTH = 0.7
# The last level is left within a fifth of that: what streams through it is gone before it comes again.
_LAST_EDGE_WIDTH = 0.2
# Multiples of a level at which the bandwidth may fall as well.
_EDGES = (("l3", 1 / 4), ("l3", 1 / 2), ("l3", 1), ("l3", 2), ("memory", 1 / 4), ("memory", 1 / 2), ("memory", 2))
_MULTIPLE_WIDTH = 0.35
# Priors, as shares of the limits: what rates are usually like, and how slow each level of the memory is.
_USUAL_FLOPS_SHARE = 1 / 40
_USUAL_BYTES_SHARES = {"byte": 1 / 20, "l2": 1 / 10, "l3": 1 / 20, "memory": 1 / 100}
# Of what kernels do beyond the full rates: per call, per row, per number, per MiB of traffic, and in full FLOPs.
_USUAL_MS = {"call": 1e-3, "row": 5e-5, "id": 5e-5, "number": 3e-6, "traffic": 2e-2, "product": 5e-7}
_USUAL_LOSS = 8
# The noise of a row over the priors' spread, which is a factor of two: how much a prior weighs against rows.
_PRIOR_WEIGHT = 0.05
_ROUNDS = 6
_HUBER = 1.345
# Kernels differ by so much among themselves: rows that differ by less are no outliers, though a prior opposes them.
_LEAST_SCALE = 0.05
_LEVELS = ("l2", "l3", "memory")
# Terms that between them count each FLOP of a product once.
_ALL_FLOPS = ("flop", "flop/narrow", "flop/vector", "flop/deep", "product/tiny")


@dataclass(frozen=True, kw_only=True, slots=True)
class PhysicalLimits:
    """Rates that nothing on the device can exceed, and the sizes of its caches, nearest first."""

    flops_per_s: float
    bytes_per_s: float
    cache_bytes: tuple[float, float, float] = (32 * 2.0**10, 2.0**20, 12 * 2.0**20)

    def __post_init__(self) -> None:
        for name in ("flops_per_s", "bytes_per_s"):
            if not getattr(self, name) > 0:
                raise InputError(f"physical limits: {name} must be > 0, but got {getattr(self, name)}")
        if not 0 < self.cache_bytes[0] < self.cache_bytes[1] < self.cache_bytes[2]:
            raise InputError(f"physical limits: cache_bytes must be > 0 and grow, but got {self.cache_bytes}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Roofline:
    """Fitted constants by term, in ms per unit of the term, for components with the dimensions `names`."""

    ms_per_unit: Mapping[str, float]
    cache_bytes: tuple[float, float, float]

    def predict(self, drivers: CostDrivers) -> Floats:
        """[N]: latency in ms, > 0."""
        terms = _terms(drivers, self.cache_bytes)
        predicted: Floats = np.zeros(len(drivers.batch))
        for name, column in terms.items():
            predicted += column * self.ms_per_unit[name]
        return predicted


def fit_roofline(
    drivers: CostDrivers, latency_ms: Floats, limits: PhysicalLimits, *, weights_N: Floats | None = None
) -> Roofline:
    """Least squares on the relative error with Huber weights, so that a few wild rows do not bend the roof.

    `weights_N` are of squared errors.
    """
    terms = _terms(drivers, limits.cache_bytes)
    lowest, highest = _bounds(tuple(terms), limits)
    prior, spread = _priors(tuple(terms), limits)
    relative = np.column_stack(tuple(terms.values())) / latency_ms[:, None]
    believed = _PRIOR_WEIGHT / spread
    # Columns that no row reached are all prior: they must not outweigh the others by many orders of magnitude.
    largest = np.maximum(relative.max(axis=0), believed)
    scale = np.where(largest > 0, largest, 1.0)
    design = np.vstack((relative / scale, np.diag(believed / scale)))
    target = np.concatenate((1 - relative @ lowest, believed * np.maximum(prior - lowest, 0.0)))
    room = (highest - lowest) * scale
    count = len(latency_ms)
    own_N = np.ones(count) if weights_N is None else np.sqrt(weights_N)
    weights = np.concatenate((own_N, np.ones(len(target) - count)))
    solution = np.zeros(len(scale))
    for _ in range(_ROUNDS):
        solution = _bounded(design, target, weights, room)
        weights[:count] = own_N * _huber_weights((design @ solution - target)[:count])
    constants = lowest + solution / scale
    return Roofline(ms_per_unit=dict(zip(terms, constants.tolist(), strict=True)), cache_bytes=limits.cache_bytes)


def _terms(drivers: CostDrivers, cache_bytes: Sequence[float]) -> dict[str, Floats]:
    """Columns [N] that latency is a sum of; each grows with the batch."""
    moved = drivers.bytes_N + inner_bytes(drivers)
    terms = {"overhead": np.ones(len(drivers.batch)), "row": drivers.batch, "flop": tiled_flops(drivers), "byte": moved}
    sizes = dict(zip(_LEVELS, cache_bytes, strict=True))
    log_set = np.log2(np.maximum(moved, 1.0))
    for level, size in sizes.items():
        width = _LAST_EDGE_WIDTH if level == _LEVELS[-1] else _EDGE_WIDTH
        terms[level] = moved * _share_beyond(log_set, size, width)
    for level, multiple in _EDGES:
        share_N = _share_beyond(log_set, multiple * sizes[level], _MULTIPLE_WIDTH)
        terms[f"edge/{level}/{multiple:g}"] = moved * share_N
    terms["missed_byte"] = moved * np.log1p(drivers.parameter_bytes_N / BYTES_PER_MIB)
    if "pooling" in drivers.names:
        terms["id"] = drivers.ids_N
        # Bags of one id come without offsets, which torch then makes.
        terms["offsets"] = (drivers.size_of("pooling") == 1).astype(np.float64)
    return terms | kernel_terms(drivers)


def _share_beyond(log_set: Floats, cache_bytes: float, width: float) -> Floats:
    share: Floats = 1 / (1 + np.exp(-(log_set - np.log2(cache_bytes)) / width))
    return share


def _bounds(names: Sequence[str], limits: PhysicalLimits) -> tuple[Floats, Floats]:
    """The least and the largest constant of each term, in ms per unit."""
    fastest_flop, fastest_byte = MS_PER_S / limits.flops_per_s, MS_PER_S / limits.bytes_per_s
    slowest_flop, slowest_byte = MS_PER_S / _SLOWEST_FLOPS_PER_S, MS_PER_S / _SLOWEST_BYTES_PER_S
    bounds = {
        "overhead": (_LEAST_OVERHEAD_MS, np.inf),
        **dict.fromkeys(_ALL_FLOPS, (fastest_flop, _MOST_LOSS * slowest_flop)),
        "flop": (fastest_flop, slowest_flop),
        "byte": (fastest_byte, slowest_byte),
        "missed_byte": (0.0, MS_PER_S / _SLOWEST_MISSES_PER_S),
        **dict.fromkeys((*_LEVELS, "edge"), (0.0, slowest_byte)),
    }
    # The full rates are bounded from both sides, what comes on top of them is not.
    beyond = {**bounds, "flop": (0.0, _MOST_LOSS * slowest_flop)}
    chosen = np.array([bounds.get(name) or beyond.get(_unit(name), (0.0, np.inf)) for name in names])
    return chosen[:, 0], chosen[:, 1]


def _priors(names: Sequence[str], limits: PhysicalLimits) -> tuple[Floats, Floats]:
    """The usual constant of each term and its spread, in ms per unit; an infinite spread is no prior."""
    usual_flop = MS_PER_S / (limits.flops_per_s * _USUAL_FLOPS_SHARE)
    levels = {name: MS_PER_S / (limits.bytes_per_s * share) for name, share in _USUAL_BYTES_SHARES.items()}
    known = {
        "overhead": (0.0, np.inf),
        "offsets": (0.0, np.inf),
        **dict.fromkeys(_ALL_FLOPS, (usual_flop, usual_flop)),
        "missed_byte": (0.0, levels["memory"]),
        "edge": (0.0, levels["l3"]),
        **{name: (cost, cost) for name, cost in levels.items()},
        **{name: (0.0, cost_ms) for name, cost_ms in _USUAL_MS.items()},
    }
    beyond = {**known, "flop": (0.0, _USUAL_LOSS * usual_flop)}
    chosen = np.array([known.get(name) or beyond[_unit(name)] for name in names])
    return chosen[:, 0], chosen[:, 1]


def _unit(name: str) -> str:
    return name.partition("/")[0]


def _bounded(design: Floats, target: Floats, weights: Floats, room: Floats) -> Floats:
    from scipy.optimize import lsq_linear

    found = lsq_linear(design * weights[:, None], target * weights, (0.0, room), method="bvls")
    return np.asarray(found.x, dtype=np.float64)


def _huber_weights(errors: Floats) -> Floats:
    scale = max(1.4826 * float(np.median(np.abs(errors))), _LEAST_SCALE)
    return np.sqrt(np.minimum(1.0, _HUBER * scale / np.maximum(np.abs(errors), 1e-12)))
