"""Components spread evenly over what models use: a fixed design per kind, for sweeps that must not depend on a study.

Sizes come from a scrambled Sobol sequence in their logs, half of them rounded to the multiples of 8 that people choose.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from profiles.component import Component, make_component
from representations.components import work_of

__all__ = ["DESIGNS", "LARGEST_BATCH", "design"]

LARGEST_BATCH = 4096
# What takes longer would eat the sweep's time for a row that few models hold.
_MOST_FLOPS = 1e9
_MOST_BYTES = 64e6
_MOST_PARAMETER_BYTES = 256e6

Shape = Mapping[str, int | float | str]
_EXPONENTS = (0.0, 0.0, 0.6, 0.9, 1.2)
_POOLINGS = (1.0, 1.0, 4.0, 20.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Design:
    """Ranges of the sizes beside the batch, and what makes a shape of them; `draw` lies in [0, 1)."""

    ranges: Mapping[str, tuple[int, int]]
    shape: Callable[[Mapping[str, int], float], Shape]


DESIGNS: Mapping[str, _Design] = {
    "linear": _Design(ranges={"in_features": (4, 2048), "out_features": (1, 2048)}, shape=lambda sizes, _: dict(sizes)),
    "elementwise": _Design(
        ranges={"width": (4, 4096)}, shape=lambda sizes, draw: {**sizes, "function": "relu" if draw < 0.6 else "mish"}
    ),
    "embedding": _Design(
        ranges={"rows": (100, 1_000_000), "dim": (4, 128)},
        shape=lambda sizes, draw: {
            **sizes,
            "pooling": _POOLINGS[int(draw * 4)],
            "zipf": _EXPONENTS[int(draw * 20) % 5],
            "backend": "torch",
        },
    ),
    "dhe_encoder": _Design(
        ranges={"k": (4, 2048)}, shape=lambda sizes, _: {**sizes, "rows": 1_000_000, "transform": "uniform"}
    ),
    "interaction": _Design(
        ranges={"vectors": (2, 40), "dim": (4, 128)}, shape=lambda sizes, _: {**sizes, "function": "dot"}
    ),
    "concat": _Design(ranges={"parts": (2, 30), "width": (32, 4096)}, shape=lambda sizes, _: dict(sizes)),
}


def design(kind: str, count: int, *, seed: int = 0) -> tuple[Component, ...]:
    """`count` distinct components of the kind at batches of 1 to 4096; equal seeds give equal ones."""
    from scipy.stats import qmc

    chosen = DESIGNS[kind]
    logs = np.log2([(1, LARGEST_BATCH), *chosen.ranges.values()])
    points = qmc.Sobol(len(logs) + 1, rng=np.random.default_rng(seed)).random(2 ** (count - 1).bit_length() * 8)
    found: dict[Component, None] = {}
    for point in points:
        sizes = np.exp2(logs[:, 0] + point[:-1] * (logs[:, 1] - logs[:, 0]))
        batch, *rest = (_size(size, is_rounded=point[-1] < 0.5) for size in sizes.tolist())
        shape = chosen.shape(dict(zip(chosen.ranges, rest, strict=True)), float(point[-1] * 2 % 1))
        component = make_component(kind, batch, shape)
        if _is_affordable(component):
            found[component] = None
        if len(found) == count:
            break
    return tuple(found)


def _size(size: float, *, is_rounded: bool) -> int:
    return int(8 * round(size / 8)) if is_rounded and size >= 12 else max(1, round(size))


def _is_affordable(component: Component) -> bool:
    work = work_of(component)
    return (
        work.flops <= _MOST_FLOPS and work.bytes_moved <= _MOST_BYTES and work.parameter_bytes <= _MOST_PARAMETER_BYTES
    )
