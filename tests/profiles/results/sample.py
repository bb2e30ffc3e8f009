"""A profile with every kind of row, made of plain values."""

from typing import Any

from profiles.kernel_time import KernelTime
from profiles.model_profile import CallProfile, ModelProfile
from profiles.profilers.protocol import Figure
from tests.profiles.rows import latency, row

EVIL = "<img src=x onerror=alert(1)>"


def sample_profile(**changes: Any) -> ModelProfile:
    rows = (
        row("0", path="", class_name="Net", in_situ=latency(10.0), warm=latency(9.0), cold=latency(12.0), flops=9e9,
            bytes_moved=3e8, parameter_bytes=4000, peak_memory_bytes=10**6, device="h100", mfu=0.3),
        row("1", path="(self)", kind="self", depth=1, in_situ=latency(2.0), flops=0.0, reason="in the model"),
        row("2", path="a", depth=1, in_situ=latency(5.0), warm=latency(4.0), flops=8e9, bytes_moved=1e8, mfu=0.5,
            device="h100", artefacts={"trace": "traces/a.json.gz"}, figures={"gpu_ms": 3.5, "gap_share": None}),
        row("3", path="list", class_name="ModuleList", depth=1, in_situ=latency(3.0), provenance="aggregated",
            reason="never called; summed from its children", flops=1e9),
        row("4", path="list.0", depth=2, in_situ=latency(2.5), warm=latency(2.0), flops=1e9, bytes_moved=1e8,
            device="h100", provenance="estimated", reason="from a table"),
        row("5", path="list.1", depth=2, in_situ=latency(1.1), warm=latency(1.0), device="h100", bytes_moved=1e8),
        row("6", path=EVIL, depth=1, provenance="skipped", reason="never called"),
    )  # fmt: skip
    fields: dict[str, Any] = {
        "rows": rows,
        "profile_seconds": 1.5,
        "name": "net",
        "calls": (CallProfile(path="a", batch="0", signature="(float32[4, 8])", count=2, warm=latency(2.0)),),
        "kernels": (
            KernelTime(path="a", kernel="aten::addmm", device="h100", calls=2.0, milliseconds=3.0),
            KernelTime(path="list.0", kernel="aten::add", device="h100", calls=1.0, milliseconds=1.0),
            KernelTime(path=None, kernel=EVIL, device="h100", calls=1.0, milliseconds=0.1),
        ),
        "figures": (Figure(name="gpu_ms", title="GPU time, ms", aggregation="sum"),),
        "costs": {"capture_seconds": 0.25, "hook_overhead": 0.01, "forward_ms": 7.5, "forwards": 20.0},
        "notes": ("fast paths were turned off",),
    }
    return ModelProfile(**{**fields, **changes})
