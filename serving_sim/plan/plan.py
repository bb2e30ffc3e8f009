"""The plan itself, its JSON form and its checks."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any, ClassVar

from profiles.edge import STRICT, parse_object, read_json, shown
from profiles.errors import InputError, UnknownNameError
from profiles.files import replace_file
from serving_sim.plan.cache import Cache
from serving_sim.plan.checks import require_names
from serving_sim.plan.defaults import with_defaults
from serving_sim.plan.device import Device
from serving_sim.plan.edits import edit_plan
from serving_sim.plan.path import Path
from serving_sim.plan.table_warnings import warn_by_path
from serving_sim.plan.workload import Workload

__all__ = ["SCHEMA", "Plan", "PolicyChoice", "load_plan", "plan_from_object"]

SCHEMA = "recplan.plan/1"


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyChoice:
    """Which policy routes queries: its registered name and its options, e.g. `path` for `static`."""

    __pydantic_config__: ClassVar = STRICT
    name: str = "mp-rec"
    options: dict[str, str | float | int | bool] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Paths on devices under a workload, and the caches that paths look into."""

    __pydantic_config__: ClassVar = STRICT
    name: str
    devices: tuple[Device, ...]
    paths: tuple[Path, ...]
    workload: Workload
    policy: PolicyChoice = field(default_factory=PolicyChoice)
    seed: int = 0
    notes: tuple[str, ...] = ()
    caches: tuple[Cache, ...] = ()

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise InputError(f"seed: must be >= 0, but got {self.seed}")
        names = {
            "devices": [device.name for device in self.devices],
            "paths": [path.name for path in self.paths],
            "caches": [cache.name for cache in self.caches],
        }
        for where, listed in names.items():
            if not listed and where != "caches":
                raise InputError(f"{where}: must not be empty")
            require_names(where, listed)
        for path in self.paths:
            for key, device in (("device", path.device), *(("shards.device", shard.device) for shard in path.shards)):
                if device not in names["devices"]:
                    raise UnknownNameError(f"paths.{path.name}.{key}", device, names["devices"])
            if path.cache and path.cache not in names["caches"]:
                raise UnknownNameError(f"paths.{path.name}.cache", path.cache, names["caches"])

    def device_of(self, path: Path) -> int:
        """Index of the path's device."""
        return [device.name for device in self.devices].index(path.device)

    def cache_of(self, path: Path) -> Cache | None:
        """The cache that the path looks into, if any."""
        return next((cache for cache in self.caches if cache.name == path.cache), None)

    def to_object(self) -> dict[str, Any]:
        """The JSON form, with its schema."""
        return {"schema": SCHEMA, **asdict(self)}

    def save(self, file: FilePath) -> None:
        """Write the JSON form, atomically."""
        replace_file(file, json.dumps(self.to_object(), indent=1, allow_nan=False) + "\n")

    def at(self, **changes: Any) -> "Plan":
        """The plan under a changed workload, e.g. `plan.at(qps=2000)`."""
        return replace(self, workload=replace(self.workload, **changes))


def plan_from_object(body: Mapping[str, Any], where: str = "plan") -> Plan:
    """The plan in a JSON object; every complaint names the key."""
    fields = dict(body)
    schema = fields.pop("schema", None)
    if schema != SCHEMA:
        raise InputError(f"{where}: schema: must be {SCHEMA!r}, but got {shown(schema)}")
    return warn_by_path(lambda: parse_object(Plan, fields, where), fields.get("paths"))


def load_plan(file: FilePath | str, edits: Iterable[str] = ()) -> Plan:
    """The plan in a JSON file, or the preset of that name, with `KEY=VALUE` edits applied.

    A key that the file leaves out may be edited too.

    Raises:
        InputError: no such file nor preset, or what `plan_from_object` and `edit_plan` raise.
    """
    body = _body(FilePath(file))
    if edits := tuple(edits):
        body = edit_plan(with_defaults(body, Plan), edits)
    return plan_from_object(body, str(file))


def _body(file: FilePath) -> dict[str, Any]:
    from serving_sim.presets import PRESETS, preset_body

    if file.exists() or len(file.parts) > 1 or file.suffix:
        return read_json(file)
    if str(file) in PRESETS:
        return preset_body(str(file))
    raise InputError(f"{file}: no such file, and no preset; presets: {', '.join(PRESETS)}")
