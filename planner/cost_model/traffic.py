"""How a model's activations displace the rows of its tables from the caches.

Tables are read once per pass; between two passes everything that the other components read and write goes through the
caches as well. A table alone finds its rows where it left them, in the model it does not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from planner.cost_model.estimates import Floats
from planner.cost_model.features import BYTES_PER_MIB, WorkFormula
from profiles.component import Component, Work, make_component
from representations.components import PlacedComponent

__all__ = [
    "TABLE_KINDS",
    "activation_bytes",
    "behind",
    "context_bytes_of",
    "displaced_bytes",
    "in_context",
    "in_pass",
    "kept_share",
]

TABLE_KINDS = frozenset({"embedding", "embedding_group"})
# A boundary of caches may lie within a doubling of traffic.
_STEPS_PER_DOUBLING = 2
# The second level of a current server's core.
_KEPT_BYTES = 2 * BYTES_PER_MIB
# What passes beyond this finds little left to displace in the caches of a core, and takes long to pass.
_MOST_IN_PASS = 32 * BYTES_PER_MIB
# Activations, read and written: glibc keeps at most 64 MiB of freed memory (mallopt(3)), and about half of what a pass
# writes is alive at once.
_FREES_FROM = 256 * BYTES_PER_MIB


def activation_bytes(components: Sequence[Component], works: Sequence[Work]) -> float:
    """Bytes that all components but the tables move in a pass."""
    pairs = zip(components, works, strict=True)
    return float(sum(work.bytes_moved for component, work in pairs if component.kind not in TABLE_KINDS))


def kept_share(traffic_bytes: float | Floats) -> float | Floats:
    """How much of what a pass moves a core's own cache may hold, as a share."""
    return np.minimum(1.0, _KEPT_BYTES / np.maximum(traffic_bytes, 1.0))


def displaced_bytes(components: Sequence[Component], works: Sequence[Work]) -> Floats:
    """[P]: bytes of each table, weighed by the log of the traffic in MiB between two of its runs; 0 for all others."""
    weight = float(np.log1p(activation_bytes(components, works) / BYTES_PER_MIB))
    pairs = zip(components, works, strict=True)
    bytes_P = [work.bytes_moved if component.kind in TABLE_KINDS else 0.0 for component, work in pairs]
    displaced_P: Floats = np.array(bytes_P, dtype=np.float64) * weight
    return displaced_P


def context_bytes_of(traffic_bytes: Floats) -> Floats:
    """The traffic that a table is profiled behind, for that of a model: the nearest of two to a doubling from 1 MiB on,
    in whole bytes, else 0.
    """
    exponent = np.round(_STEPS_PER_DOUBLING * np.log2(np.maximum(traffic_bytes, 1.0))) / _STEPS_PER_DOUBLING
    within: Floats = np.where(exponent >= np.log2(BYTES_PER_MIB), np.floor(np.exp2(exponent)), 0.0)
    return within


def in_context(placed: Sequence[PlacedComponent], work: WorkFormula) -> tuple[PlacedComponent, ...]:
    """The components with each table behind the traffic of the others."""
    components = [one.component for one in placed]
    traffic = activation_bytes(components, [work(component) for component in components])
    within = int(context_bytes_of(np.array([traffic]))[0])
    return tuple(replace(one, component=behind(one.component, within)) for one in placed)


def behind(component: Component, context_bytes: int) -> Component:
    """A table behind so much traffic; 0 and any other component leave it as it is."""
    if component.kind not in TABLE_KINDS or context_bytes == 0:
        return component
    return _with(component, {"context_bytes": context_bytes})


def in_pass(placed: Sequence[PlacedComponent], work: WorkFormula) -> tuple[PlacedComponent, ...]:
    """Every component, not tables alone, behind what a whole pass of the model moves between two of its runs.

    Traffic is read and written, so half as many bytes of memory: weights and rows, which a pass reads once, count
    twice. `context_bytes` is in each shape, 0 where little passes, and `context_frees`, 1 where a pass frees more than
    the allocator keeps.
    """
    works = [work(one.component) for one in placed]
    read_once = sum(min(own.parameter_bytes, own.bytes_moved) for own in works)
    moved = sum(own.bytes_moved for own in works)
    within = int(context_bytes_of(np.array([min(moved + read_once, _MOST_IN_PASS)]))[0])
    context = {"context_bytes": within, "context_frees": int(moved - read_once >= _FREES_FROM)}
    return tuple(replace(one, component=_with(one.component, context)) for one in placed)


def _with(component: Component, context: Mapping[str, int]) -> Component:
    shape = {**dict(component.shape), **context}
    return make_component(component.kind, component.batch, shape, dtype=component.dtype, phase=component.phase)
