"""A known machine that no roofline fits exactly: tiles, caches with blurred edges, a kernel that switches."""

import math

from profiles.component import Component
from representations.components import work_of

__all__ = ["machine_ms"]

_GFLOPS = 70e9
# Bytes per second from each level, and the size of those before the last.
_BANDWIDTHS = (100e9, 40e9, 18e9, 6e9)
_CACHES = (48 * 2**10, 512 * 2**10, 16 * 2**20)
_TILE_M, _TILE_N = 6, 16


def machine_ms(component: Component) -> float:
    """Warm latency in ms."""
    work = work_of(component)
    transfer_s = work.bytes_moved * _seconds_per_byte(work.bytes_moved)
    if component.kind == "linear":
        return 1e3 * (4e-6 + max(_product_s(component), transfer_s) + 0.3 * min(_product_s(component), transfer_s))
    if component.kind.startswith("embedding"):
        ids = component.batch * float(component["pooling"])
        translation = 1 + 0.15 * math.log1p(work.parameter_bytes / 2**21)
        return 1e3 * (6e-6 + transfer_s * translation + ids * 4e-9 + component.batch * 6e-9)
    rate = 4e9 if component.kind == "dhe_encoder" else 30e9
    narrowest = next(float(value) for name, value in component.shape if name in ("dim", "k", "width"))
    lost = 1 + 8 / narrowest
    parallel = 5e-6 if work.bytes_moved > 2**20 else 0.0
    return 1e3 * (5e-6 + parallel + work.flops / rate * lost + transfer_s + component.batch * 2e-9)


def _product_s(component: Component) -> float:
    m, k, n = component.batch, int(component["in_features"]), int(component["out_features"])
    if m == 1:
        return 2 * k * n / 12e9
    padded = 2.0 * (-(-m // _TILE_M) * _TILE_M) * (-(-n // _TILE_N) * _TILE_N) * k
    return padded / _GFLOPS * (1 + 6 / k) * (1.25 if n % 8 else 1.0)


def _seconds_per_byte(working_set: float) -> float:
    cost = 1 / _BANDWIDTHS[0]
    for size, before, after in zip(_CACHES, _BANDWIDTHS, _BANDWIDTHS[1:], strict=False):
        cost += (1 / after - 1 / before) / (1 + (size / working_set) ** 2)
    return cost
