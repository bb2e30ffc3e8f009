"""The hardware catalogue: published figures of devices, and what this machine is.

Peaks are dense peaks per dtype. A device without a figure has none, rather than a wrong one.
"""

import os
import platform
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from profiles.errors import UnknownNameError

__all__ = ["LOCAL_CPU", "Hardware", "catalogue", "get_hardware", "local_cpu"]

LOCAL_CPU = "local-cpu"


@dataclass(frozen=True, kw_only=True, slots=True)
class Hardware:
    """One kind of device: dense peaks by dtype, and `achieved_*` as measured fractions of a peak.

    All figures are of the whole device. One of several chips, or of chips with several cores, has equal parts of all of
    them: its `units`, each with memory of its own, joined by links of `unit_link_bytes_per_s` each. `compile_s` is what
    a new shape of inputs costs before its first run.
    """

    name: str
    title: str
    family: str
    memory_bytes: int
    bandwidth_bytes_per_s: float
    peak_flops_per_s: Mapping[str, float] = field(default_factory=dict)
    achieved_bandwidth_share: float | None = None
    achieved_flops_share: float | None = None
    on_chip_bytes: int = 0
    on_chip_bandwidth_bytes_per_s: float | None = None
    chips: int = 1
    cores_per_chip: int = 1
    unit_link_bytes_per_s: float | None = None
    is_pipelined: bool = False
    compile_s: float = 0.0
    host_link_bytes_per_s: float | None = None
    host_link_latency_s: float = 0.0
    launch_overhead_s: float = 0.0
    tdp_w: float | None = None
    idle_w: float | None = None
    source: str = ""

    @property
    def is_local(self) -> bool:
        """Whether this is the processor recplan runs on."""
        return self.name == LOCAL_CPU

    @property
    def units(self) -> int:
        """Parts that have memory of their own."""
        return self.chips * self.cores_per_chip

    @property
    def unit(self) -> "Hardware":
        """One of the parts, as a device."""
        share = 1 / self.units
        fast = self.on_chip_bandwidth_bytes_per_s
        return replace(
            self,
            chips=1,
            cores_per_chip=1,
            memory_bytes=self.memory_bytes // self.units,
            bandwidth_bytes_per_s=self.bandwidth_bytes_per_s * share,
            peak_flops_per_s={dtype: peak * share for dtype, peak in self.peak_flops_per_s.items()},
            on_chip_bytes=self.on_chip_bytes // self.units,
            on_chip_bandwidth_bytes_per_s=None if fast is None else fast * share,
            tdp_w=None if self.tdp_w is None else self.tdp_w * share,
            idle_w=None if self.idle_w is None else self.idle_w * share,
        )

    def peak(self, dtype: str) -> float | None:
        """Dense peak FLOP/s for the dtype, or None where the catalogue has no figure."""
        return self.peak_flops_per_s.get(dtype)


@cache
def catalogue() -> Mapping[str, Hardware]:
    """Every device that the package knows, by name; `local-cpu` is what this machine is."""
    text = files("profiles").joinpath("data/catalogue.toml").read_text(encoding="utf-8")
    entries = {name: _parse(name, row) for name, row in tomllib.loads(text)["devices"].items()}
    return {LOCAL_CPU: local_cpu(), **entries}


def get_hardware(name: str, *, what: str = "kind") -> Hardware:
    """The device of that name; an `UnknownNameError` names the option or key `what`, and lists the known ones."""
    known = catalogue()
    if name not in known:
        raise UnknownNameError(what, name, known)
    return known[name]


def local_cpu() -> Hardware:
    """The processor and memory that recplan runs on; its peaks are unknown until measured, so it has no MFU."""
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Hardware(
        name=LOCAL_CPU,
        title=f"{_processor_name()}, {os.cpu_count()} cores",
        family="cpu",
        memory_bytes=memory_bytes,
        bandwidth_bytes_per_s=0.0,
        source="this machine",
    )


def _processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _parse(name: str, row: Mapping[str, Any]) -> Hardware:
    return Hardware(name=name, **row)
