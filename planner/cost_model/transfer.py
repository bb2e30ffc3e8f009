"""The model of a device that is not here from one of its class that was measured.

What share of its roofline a component reached on the measured device, at the component's own size and arithmetic
intensity, it is taken to reach on the other:

    utilisation = roofline time / (latency - launches)        on the measured device
    latency = launches + roofline time / utilisation          on the other
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner.cost_model.accuracy import ErrorSummary, summarise_errors
from planner.cost_model.device_roof import DeviceRoof
from planner.cost_model.eager import launches_of
from planner.cost_model.estimates import DeviceModel, Estimates, LatencyProvenance
from planner.cost_model.features import WorkFormula, family_of
from planner.cost_model.host_inputs import HostInputs
from planner.cost_model.host_link import COPY, published_trip
from planner.cost_model.intervals import half_width
from planner.cost_model.model import FittedDeviceModel
from planner.cost_model.scatter import Scatter
from profiles.component import Component
from profiles.errors import InputError
from profiles.hardware import Hardware
from profiles.units import MS_PER_S

__all__ = [
    "TransferError",
    "TransferredDeviceModel",
    "achieved_roof",
    "transfer_error",
]

# Stands in for an error that was never measured.
_ASSUMED_HALF_WIDTH = math.log(2)


def achieved_roof(model: FittedDeviceModel) -> DeviceRoof:
    """The highest rates among a measured device's rows, and its shortest call."""
    works = [model.work(component) for component in model.rows.components]
    seconds = model.rows.label_ms / MS_PER_S
    flops_per_s = float(np.max(np.array([work.flops for work in works]) / seconds))
    bytes_per_s = float(np.max(np.array([work.bytes_moved for work in works]) / seconds))
    if not flops_per_s > 0:
        raise InputError("transfer: no measured component has any FLOPs, so the device's peak is unknown")
    return DeviceRoof(flops_per_s=flops_per_s, bytes_per_s=bytes_per_s, launch_ms=float(model.rows.label_ms.min()))


@dataclass(frozen=True, kw_only=True, slots=True)
class TransferredDeviceModel:
    """Answers for `hardware` from the `source`; always `estimated`.

    No component is taken to be faster than the roof: where launches make up all of the measured latency, the
    utilisation is 1. `half_width`, in logs, is the transfer's error, added to the source's: that of the `checks`, by
    the measured device that was carried to, where there are any.
    """

    source: DeviceModel
    source_name: str
    source_roof: DeviceRoof
    roof: DeviceRoof
    hardware: Hardware
    work: WorkFormula
    power_w: float | None = None
    checks: Mapping[str, "TransferError"] = field(default_factory=dict)

    @property
    def half_width(self) -> float:
        """The widest of the checks, or what is assumed without any."""
        return max((one.half_width for one in self.checks.values()), default=_ASSUMED_HALF_WIDTH)

    @property
    def provenance(self) -> LatencyProvenance:
        """`estimated`."""
        return "estimated"

    @property
    def scatter(self) -> Scatter:
        """The source's: what scatters is the class of device."""
        return self.source.scatter

    @property
    def busy_w(self) -> float | None:
        """The given power, else the catalogue's thermal design power."""
        watts = self.power_w if self.power_w is not None else self.hardware.tdp_w
        return None if watts is None else float(watts)

    @property
    def notes(self) -> tuple[str, ...]:
        """From what it was transferred, and how far to trust it."""
        how = f"{self.hardware.name}: estimated from the utilisation measured on {self.source_name}"
        found = "".join(
            f", which is {100 * one.errors.mape:.0f} % off where it is carried to {name} and held against its rows"
            for name, one in self.checks.items()
        )
        return (f"{how}{found}; intervals are a factor of {math.exp(self.half_width):.2g} wider either way",)

    def predict(self, components: Sequence[Component], *, resident_bytes: int | None = None) -> Estimates:
        """The source's latencies carried over.

        Raises:
            UnknownNameError: a component that the source has never seen.
        """
        known = self.source.predict(components, resident_bytes=resident_bytes)
        works = [self.work(component) for component in components]
        flops = np.array([work.flops for work in works], dtype=np.float64)
        moved = np.array([work.bytes_moved for work in works], dtype=np.float64)
        launches = np.array([self._launches(component) for component in components], dtype=np.float64)
        before = self.source_roof.busy_ms(flops, moved)
        utilisation = before / np.maximum(known.mean_ms - launches * self.source_roof.launch_ms, before)
        mean = launches * self.roof.launch_ms + self.roof.busy_ms(flops, moved) / utilisation
        factor = np.exp(self.half_width)
        provenance: list[LatencyProvenance] = ["estimated"] * len(components)
        return Estimates(
            mean_ms=mean,
            low_ms=mean * known.low_ms / known.mean_ms / factor,
            high_ms=mean * known.high_ms / known.mean_ms * factor,
            provenance=tuple(provenance),
            extrapolated=known.extrapolated,
        )

    def transfer(self, inputs: Sequence[HostInputs]) -> Estimates:
        """Over the catalogue's host link."""
        return published_trip(self.hardware, inputs)

    def _launches(self, component: Component) -> int:
        return 1 if self.hardware.family == "cpu" else launches_of(component)


@dataclass(frozen=True, kw_only=True, slots=True)
class TransferError:
    """Errors of a transfer between two measured devices; `half_width` is that of its 90 % interval, in logs."""

    errors: ErrorSummary
    by_kind: Mapping[str, ErrorSummary]
    half_width: float


def transfer_error(
    source: FittedDeviceModel,
    target: FittedDeviceModel,
    hardware: Hardware,
    *,
    roofs: tuple[DeviceRoof, DeviceRoof] | None = None,
) -> TransferError:
    """How far the target's measured rows are from what the source's utilisation says of them.

    `roofs` are the source's and the target's, what each achieved by default. Rows of families that the source has not
    measured are left out, and so are copies to a device, which take its link.

    Raises:
        InputError: the two have no family in common.
    """
    before, after = roofs or (achieved_roof(source), achieved_roof(target))
    known = source.families
    rows = [i for i, one in enumerate(target.rows.components) if family_of(one) in known and one.kind != COPY]
    if not rows:
        raise InputError("transfer: the two devices have no measured family in common")
    components = [target.rows.components[i] for i in rows]
    transferred = TransferredDeviceModel(
        source=source, source_name="source", source_roof=before, roof=after, hardware=hardware, work=target.work
    )
    measured, predicted = target.rows.label_ms[rows], transferred.predict(components).mean_ms
    kinds = np.array([one.kind for one in components])
    return TransferError(
        errors=summarise_errors(measured, predicted),
        by_kind={
            kind: summarise_errors(measured[kinds == kind], predicted[kinds == kind])
            for kind in sorted(set(kinds.tolist()))
        },
        half_width=half_width(np.log(measured / predicted)),
    )
