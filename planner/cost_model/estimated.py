"""The model of a device that nobody measured: from a measured one of its class, else from what is published."""

from collections.abc import Mapping

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.device_roof import DeviceRoof
from planner.cost_model.estimates import DeviceModel
from planner.cost_model.features import WorkFormula
from planner.cost_model.model import FittedDeviceModel
from planner.cost_model.transfer import TransferError, TransferredDeviceModel, achieved_roof, transfer_error
from profiles.hardware import Hardware

__all__ = ["estimated_model", "is_transferable"]


def is_transferable(source: FittedDeviceModel, hardware: Hardware) -> bool:
    """Whether what was measured tells of `hardware`: a single chip of the same family, neither with on-chip memory.

    Boards and chips that stream are laid out by rules that no measurement of a single chip tells.
    """
    family = source.hardware.family if source.hardware else "cpu"
    is_plain = hardware.units == 1 and not hardware.on_chip_bytes
    return is_plain and family == hardware.family and any(source.work(one).flops for one in source.rows.components)


def estimated_model(
    hardware: Hardware, measured: Mapping[str, DeviceModel], work: WorkFormula, *, power_w: float | None = None
) -> DeviceModel:
    """From the first measured device of the class where there is one, else as published.

    The transfer is checked on every other measured device of the class, as if that were known by its published figures
    alone.

    Raises:
        InputError: a device of which nothing is published.
    """
    published = RooflineDeviceModel(hardware=hardware, work=work, power_w=power_w)
    sources = {
        name: model
        for name, model in measured.items()
        if isinstance(model, FittedDeviceModel) and is_transferable(model, hardware)
    }
    if not sources:
        return published
    source_name, source = next(iter(sources.items()))
    return TransferredDeviceModel(
        source=source,
        source_name=source_name,
        source_roof=achieved_roof(source),
        roof=published.roof,
        hardware=hardware,
        work=work,
        power_w=power_w,
        checks=_checks(source, sources),
    )


def _checks(source: FittedDeviceModel, measured: Mapping[str, FittedDeviceModel]) -> dict[str, TransferError]:
    """The error of carrying the source to each other device that shares a family with it, by its name."""
    known = set(source.families)
    return {
        name: transfer_error(source, model, model.hardware, roofs=(achieved_roof(source), _roof(model)))
        for name, model in measured.items()
        if model.hardware is not None
        and model.rows.fingerprint.device_key() != source.rows.fingerprint.device_key()
        and known & set(model.families)
    }


def _roof(model: FittedDeviceModel) -> DeviceRoof:
    """As the catalogue has it, or what was reached where nothing is published."""
    if model.hardware is None or not model.hardware.bandwidth_bytes_per_s > 0:
        return achieved_roof(model)
    return RooflineDeviceModel(hardware=model.hardware, work=model.work).roof
