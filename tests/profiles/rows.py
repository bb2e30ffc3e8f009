"""Profiles made of plain values, and Hypothesis strategies for them."""

from typing import Any

from hypothesis import strategies as st

from profiles.records import ComponentProfile, Fingerprint, Latency

FINGERPRINT = Fingerprint(
    device="local-cpu", processor="a processor", threads=1, python="3.11", libraries=(("torch", "2"),)
)


def latency(median_ms: float = 1.0) -> Latency:
    return Latency(p25_ms=0.9 * median_ms, median_ms=median_ms, iqr_ms=0.2 * median_ms, n=9, visits=3, cpu_ms=median_ms)


def row(content_hash: str = "h", **changes: Any) -> ComponentProfile:
    fields: dict[str, Any] = {
        "path": "", "class_name": "Linear", "kind": "linear", "spec": "{}", "content_hash": content_hash,
        "device": "local-cpu", "batch": 4, "dtype": "float32", "fingerprint": FINGERPRINT, "provenance": "measured",
    }  # fmt: skip
    return ComponentProfile(**{**fields, **changes})


any_text = st.text(max_size=8).filter(lambda text: not any(0xD800 <= ord(letter) <= 0xDFFF for letter in text))
_figures = st.none() | st.floats(0, 1e12)
_counts = st.none() | st.integers(0, 2**62)
any_latency = st.none() | st.builds(
    Latency,
    p25_ms=st.floats(0, 1e6),
    median_ms=st.floats(0, 1e6),
    iqr_ms=st.floats(0, 1e6),
    n=st.integers(1, 10**6),
    visits=st.integers(1, 100),
    cpu_ms=_figures,
    wall_over_cpu=_figures,
)
_fingerprints = st.builds(
    Fingerprint,
    device=any_text,
    processor=any_text,
    threads=st.integers(1, 999),
    python=any_text,
    libraries=st.lists(st.tuples(any_text, any_text), max_size=3).map(tuple),
    driver=any_text,
    git_revision=any_text,
    timestamp=any_text,
)
any_profile = st.builds(
    ComponentProfile,
    path=any_text,
    class_name=any_text,
    kind=any_text,
    spec=any_text,
    content_hash=any_text,
    device=any_text,
    batch=st.integers(1, 2**40),
    dtype=any_text,
    fingerprint=_fingerprints,
    provenance=st.sampled_from(["measured", "aggregated", "estimated", "skipped"]),
    reason=any_text,
    phase=any_text,
    preprocessors=st.lists(st.text("abc-", min_size=1, max_size=4), max_size=3).map(tuple),
    calls=st.integers(0, 10**6),
    depth=st.integers(0, 99),
    in_situ=any_latency,
    warm=any_latency,
    cold=any_latency,
    flops=_figures,
    bytes_moved=_figures,
    parameter_bytes=_counts,
    peak_memory_bytes=_counts,
    mfu=_figures,
    bandwidth_share=_figures,
    artefacts=st.dictionaries(any_text, any_text, max_size=3),
)
