"""The model of a device that is not here: published peaks, an assumed share of them, launch and link overheads."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from planner.cost_model.chips import ChipLayout, layout_of, residency_limits
from planner.cost_model.device_roof import DeviceRoof
from planner.cost_model.eager import launches_of, unfused_bytes
from planner.cost_model.estimates import Estimates, LatencyProvenance
from planner.cost_model.features import WorkFormula
from planner.cost_model.host_inputs import HostInputs
from planner.cost_model.host_link import published_trip
from planner.cost_model.scatter import Scatter
from profiles.component import Component, Work
from profiles.errors import InputError
from profiles.hardware import Hardware
from profiles.units import MS_PER_S

__all__ = ["RooflineDeviceModel"]

# FLOPs of these are element-wise; those of all others are of matrix products.
_ELEMENTWISE = frozenset({"dhe_encoder", "id_split", "robe"})
# Where a dtype has no published peak, the peak of the dtype that the device would compute it in.
_STAND_INS: Mapping[str, tuple[str, ...]] = {
    "float32": ("tf32", "bfloat16", "float16"),
    "bfloat16": ("float16", "tf32", "float32"),
    "float16": ("bfloat16", "tf32", "float32"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class RooflineDeviceModel:
    """launches x overhead + max(flops / (peak x share), bytes / (bandwidth x share)); always `estimated`.

    Nothing here was measured on the device. Where a model's parameters fit on-chip memory, bytes move at its bandwidth,
    else they stream from the device's memory; over several chips it is laid out as `chips` says. A processor runs a
    component as one compiled kernel; an accelerator runs the kernels that `eager` counts, each with the bytes that it
    passes. Element-wise FLOPs run at the float32 peak, never at that of matrix products; where none is published their
    bytes alone count.
    """

    # GEMMs reach 0.705 (A100) to 0.80 (H200) of their peak, copies 0.836 (A100) to 0.944 (V100) of theirs.
    default_flops_share: ClassVar[float] = 0.7
    default_bandwidth_share: ClassVar[float] = 0.85
    # An assumption, not an error estimate: small kernels reach a half of what large ones do, or less.
    interval_factor: ClassVar[float] = 2.0

    hardware: Hardware
    work: WorkFormula
    power_w: float | None = None

    def __post_init__(self) -> None:
        if not self.hardware.bandwidth_bytes_per_s > 0:
            raise InputError(f"device {self.hardware.name!r}: has no published bandwidth, so it must be measured")

    @property
    def provenance(self) -> LatencyProvenance:
        """`estimated`."""
        return "estimated"

    @property
    def residency_limits(self) -> tuple[int, ...]:
        """What one unit's fast memory holds, and what all of theirs does: beyond these, layouts change."""
        return residency_limits(self.hardware)

    @property
    def compile_s(self) -> float:
        """What the first pass of a new shape of inputs costs beside its latency."""
        return self.hardware.compile_s

    @property
    def scatter(self) -> Scatter:
        """None: how single calls scatter is unknown."""
        return Scatter()

    @property
    def busy_w(self) -> float | None:
        """The given power, else the catalogue's thermal design power."""
        watts = self.power_w if self.power_w is not None else self.hardware.tdp_w
        return None if watts is None else float(watts)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed, for the reader of a report."""
        shares = f"{self._flops_share():.3g} of the peak FLOP/s and {self._bandwidth_share():.3g} of the bandwidth"
        interval = f"intervals are a factor of {self.interval_factor:g} either way, by assumption"
        estimated = f"{self.hardware.name}: estimated from published figures, {shares}; {interval}"
        used = self.peak_dtype("float32")
        notes = [estimated]
        if used != "float32":
            notes.append(f"float32 is taken at the published {used} peak")
        if self.compile_s:
            notes.append(f"a new shape of inputs compiles for {self.compile_s:.0f} s, which no latency here holds")
        return tuple(notes)

    def predict(self, components: Sequence[Component], *, resident_bytes: int | None = None) -> Estimates:
        """Latency of each component; `resident_bytes` decides on-chip or streaming (its own bytes by default).

        Raises:
            InputError: no peak for a component's dtype nor for one that could stand in.
        """
        provenance: list[LatencyProvenance] = ["estimated"] * len(components)
        mean, unit = np.empty(len(components)), self.hardware.unit
        for i, component in enumerate(components):
            resident = self.work(component).parameter_bytes if resident_bytes is None else resident_bytes
            mean[i] = self._latency_s(component, layout_of(self.hardware, resident), unit) * MS_PER_S
        return Estimates(
            mean_ms=mean,
            low_ms=mean / self.interval_factor,
            high_ms=mean * self.interval_factor,
            provenance=tuple(provenance),
            extrapolated=np.zeros(len(components), dtype=np.bool_),
        )

    def transfer(self, inputs: Sequence[HostInputs]) -> Estimates:
        """The link's latency plus the bytes over its bandwidth; zeros for a device without a host link."""
        return published_trip(self.hardware, inputs)

    @property
    def roof(self) -> DeviceRoof:
        """The float32 peak (or what stands in for it) and the bandwidth, times the shares of them that are reached.

        Raises:
            InputError: no peak is published.
        """
        return DeviceRoof(
            flops_per_s=self._peak("float32")[1],
            bytes_per_s=self.hardware.bandwidth_bytes_per_s * self._bandwidth_share(),
            launch_ms=self.hardware.launch_overhead_s * MS_PER_S,
        )

    def peak_dtype(self, dtype: str) -> str:
        """The dtype whose published peak stands for `dtype`."""
        return self._peak(dtype)[0]

    def _latency_s(self, component: Component, layout: ChipLayout, unit: Hardware) -> float:
        piece = layout.piece(component)
        work = self.work(piece)
        launches, moved = self._kernels(piece, work)
        if layout.shares_rows(component):
            moved /= layout.units
        fast = unit.on_chip_bandwidth_bytes_per_s if layout.layout != "stream" else None
        bandwidth = (fast or unit.bandwidth_bytes_per_s) * self._bandwidth_share()
        busy_s = max(self._compute_s(piece, work.flops) * layout.units, moved / bandwidth)
        exchange_s = layout.exchanged_bytes(component) / (unit.unit_link_bytes_per_s or math.inf)
        return layout.rounds * (launches * unit.launch_overhead_s + busy_s) + exchange_s

    def _kernels(self, component: Component, work: Work) -> tuple[int, float]:
        """Kernels launched and bytes moved."""
        if self.hardware.family == "cpu":
            return 1, work.bytes_moved
        return launches_of(component), unfused_bytes(component, work.bytes_moved)

    def _compute_s(self, component: Component, flops: float) -> float:
        if component.kind in _ELEMENTWISE:
            peak = self.hardware.peak("float32")
            return flops / (peak * self._flops_share()) if peak else 0.0
        return flops / self._peak(component.dtype)[1] if flops else 0.0

    def _peak(self, dtype: str) -> tuple[str, float]:
        for name in (dtype, *_STAND_INS.get(dtype, ())):
            if peak := self.hardware.peak(name):
                return name, peak * self._flops_share()
        known = ", ".join(self.hardware.peak_flops_per_s) or "none"
        raise InputError(f"device {self.hardware.name!r}: no peak for dtype {dtype!r}; published: {known}")

    def _flops_share(self) -> float:
        return self.hardware.achieved_flops_share or self.default_flops_share

    def _bandwidth_share(self) -> float:
        return self.hardware.achieved_bandwidth_share or self.default_bandwidth_share
