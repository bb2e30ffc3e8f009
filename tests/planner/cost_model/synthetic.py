"""Profile rows with a known truth: a roofline, a learnable step, and lognormal noise."""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from profiles.component import Component, make_component
from profiles.records import ComponentProfile, Fingerprint, Latency
from representations.components import work_of

FINGERPRINT = Fingerprint(device="local-cpu", processor="synthetic", threads=1, python="3.11", libraries=())
BATCHES = (1, 8, 64, 512, 4096)


def profile_of(
    component: Component, p25_ms: float, *, relative_iqr: float = 0.05, fingerprint: Fingerprint = FINGERPRINT
) -> ComponentProfile:
    median_ms = p25_ms * (1 + relative_iqr / 2)
    warm = Latency(p25_ms=p25_ms, median_ms=median_ms, iqr_ms=relative_iqr * median_ms, n=30, visits=3)
    return ComponentProfile(
        path=f"{component.kind}@{component.batch}",
        class_name=component.kind,
        kind=component.kind,
        spec=component.spec(),
        content_hash=component.content_hash(fingerprint.device_key()),
        device=fingerprint.device,
        batch=component.batch,
        dtype=component.dtype,
        fingerprint=fingerprint,
        provenance="measured",
        warm=warm,
    )


def linears(sizes: Iterable[tuple[int, int]], batches: Sequence[int] = BATCHES) -> list[Component]:
    return [
        make_component("linear", batch, {"in_features": inputs, "out_features": outputs})
        for inputs, outputs in sizes
        for batch in batches
    ]


def roofline_ms(component: Component) -> float:
    """5 µs + 60 GFLOP/s + 12 GB/s."""
    work = work_of(component)
    return 5e-3 + work.flops / 60e9 * 1e3 + work.bytes_moved / 12e9 * 1e3


def levelled_ms(component: Component) -> float:
    """The same, but 80 GB/s from the nearest cache, and less as the bytes outgrow 32 KiB, 1 MiB and 12 MiB."""
    work = work_of(component)
    ns_per_byte = 1 / 80
    for cache_bytes, width, gigabytes_per_s in ((2**15, 0.7, 150), (2**20, 0.7, 60), (12 * 2**20, 0.2, 15)):
        ns_per_byte += 1 / (1 + math.exp(-math.log2(work.bytes_moved / cache_bytes) / width)) / gigabytes_per_s
    return 5e-3 + work.flops / 60e9 * 1e3 + work.bytes_moved * ns_per_byte * 1e-6


def stepped_ms(component: Component) -> float:
    """The same, but a smooth loss for narrow outputs and a step where the weights leave the cache."""
    narrow = 1 + 0.8 / (1 + int(component["out_features"]) / 16)
    spilled = 1.5 if work_of(component).parameter_bytes > 2**20 else 1.0
    return roofline_ms(component) * narrow * spilled


def profiles_of(
    components: Sequence[Component],
    truth_ms: Callable[[Component], float] = roofline_ms,
    *,
    noise: float = 0.0,
    seed: int = 0,
) -> list[ComponentProfile]:
    factors = np.exp(np.random.default_rng(seed).normal(0.0, noise, len(components)))
    return [profile_of(c, truth_ms(c) * float(f)) for c, f in zip(components, factors, strict=True)]


def random_sizes(count: int, seed: int) -> list[tuple[int, int]]:
    rng = np.random.default_rng(seed)
    return [(int(a), int(b)) for a, b in np.exp2(rng.uniform(3, 11, (count, 2))).round()]
