"""Energy of a pass: power while busy times time, by a device's own reading where there was one, else modelled."""

from dataclasses import dataclass
from typing import Literal

from planner.cost_model.composition import ModelLatency
from planner.cost_model.estimates import DeviceModel, Floats
from profiles.errors import InputError
from profiles.units import MS_PER_S

__all__ = ["Energy", "energy_of"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Energy:
    """Joules of a pass at each batch of a latency.

    `modelled` holds for all that rests on a given or a published power; even `measured` power is times a latency that
    may be predicted.
    """

    joules: Floats
    power_w: float
    label: Literal["modelled", "measured"]


def energy_of(latency: ModelLatency, model: DeviceModel, measured_w: float | None = None) -> Energy | None:
    """By the measured watts where there are any, else the device's busy power; None where neither is known.

    Raises:
        InputError: watts that are not positive.
    """
    if measured_w is not None and not measured_w > 0:
        raise InputError(f"energy: measured watts must be > 0, but got {measured_w}")
    power_w = model.busy_w if measured_w is None else measured_w
    if power_w is None:
        return None
    joules = power_w * latency.mean_ms / MS_PER_S
    return Energy(joules=joules, power_w=power_w, label="modelled" if measured_w is None else "measured")
