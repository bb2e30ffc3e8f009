"""A plan with a device down, for N+1: what is left has to hold the SLA."""

from collections.abc import Iterator
from dataclasses import replace

from profiles.errors import InputError, UnknownNameError
from serving_sim.plan import Device, Path, Plan

__all__ = ["closed_paths", "plans_without_one_device", "runs_on", "without_device"]


def runs_on(path: Path, device: str) -> bool:
    """Whether the path or one of its shards needs the device."""
    return path.device == device or any(shard.device == device for shard in path.shards)


def closed_paths(plan: Plan) -> frozenset[str]:
    """Names of the paths that need a device which failed."""
    failed = [device.name for device in plan.devices if device.state == "failed"]
    return frozenset(path.name for path in plan.paths for device in failed if runs_on(path, device))


def without_device(plan: Plan, name: str) -> Plan:
    """The plan without that device and the paths that need it; all else, draws included, stays as it is.

    Raises:
        InputError: the plan has no such device, or no path is left.
    """
    names = [device.name for device in plan.devices]
    if name not in names:
        raise UnknownNameError("fail", name, names)
    paths = tuple(path for path in plan.paths if not runs_on(path, name))
    if not paths:
        raise InputError(f"fail: no path is left without {name}")
    return replace(plan, paths=paths, devices=tuple(one for one in plan.devices if one.name != name))


def plans_without_one_device(plan: Plan) -> Iterator[tuple[Device, Plan | None]]:
    """Each device with the plan that is left without it; none where no path is."""
    for device in plan.devices:
        left = all(runs_on(path, device.name) for path in plan.paths)
        yield device, None if left else without_device(plan, device.name)
