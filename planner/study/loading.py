"""The whole study, and how a file becomes one."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from planner.study.data import DataSection
from planner.study.device import DeviceSection
from planner.study.model import ModelSection
from planner.study.references import check_references
from planner.study.search import SearchSection
from planner.study.sharding import ShardingSection
from planner.study.sweep import SweepSection
from planner.study.workload import WorkloadSection
from profiles.edge import STRICT, parse_object, read_toml, shown
from profiles.errors import InputError, UnknownNameError

__all__ = ["SCHEMA", "Study", "load_study", "study_from_object"]

SCHEMA = "recplan.study/1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """A question to recplan: data, model family, devices, workload, search space and budgets.

    `cluster` is as a user writes it (`planner.distributed.shard_request` reads it); it and `sharding` are for training
    over a cluster alone. `folder` and `where` (its file's name, for messages) tell where it came from.
    """

    __pydantic_config__: ClassVar = STRICT
    name: str
    data: DataSection
    devices: tuple[DeviceSection, ...]
    workload: WorkloadSection
    seed: int = 0
    model: ModelSection = field(default_factory=ModelSection)
    search: SearchSection = field(default_factory=SearchSection)
    sweep: SweepSection = field(default_factory=SweepSection)
    cluster: dict[str, Any] | None = None
    sharding: ShardingSection | None = None
    folder: Path = field(default_factory=Path, repr=False, compare=False)
    where: str = field(default="study", repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_name(self.name)
        if self.seed < 0:
            raise InputError(f"seed: must be >= 0, but got {self.seed}")
        names = [device.name for device in self.devices]
        if not names:
            raise InputError("devices: must name at least one device")
        if doubled := {name for name in names if names.count(name) > 1}:
            raise InputError(f"devices: names must be unique, but {sorted(doubled)} come more than once")
        if self.search.latency_device is not None and self.search.latency_device not in names:
            raise UnknownNameError("search.latency_device", self.search.latency_device, names)
        for device in self.search.space.device:
            if device not in names:
                raise UnknownNameError("search.space.device", device, names)

    @property
    def latency_device(self) -> str:
        """The device on which the search judges latency."""
        return self.search.latency_device or self.devices[0].name

    @property
    def latency_batch(self) -> int:
        """The query size at which the search judges latency."""
        return self.search.latency_batch or round(self.workload.to_plan().sizes.mean)


def _check_name(name: str) -> None:
    """The name is also that of the folder of results, so it must stay inside `out/`."""
    if not name.strip():
        raise InputError("name: must not be empty")
    if name.startswith(".") or any(character in "/\\" or not character.isprintable() for character in name):
        raise InputError(
            f"name: must not start with a dot, nor hold slashes or control characters, but got {shown(name)}"
        )


def study_from_object(body: Mapping[str, Any], where: str = "study", folder: Path = Path()) -> Study:
    """The study in a plain object; every complaint names the key.

    Raises:
        InputError: another schema, an unknown or missing key, a bad value.
    """
    fields = dict(body)
    schema = fields.pop("schema", None)
    if schema != SCHEMA:
        raise InputError(f"{where}: schema: must be {SCHEMA!r}, but got {shown(schema)}")
    for key in ("folder", "where"):
        if key in fields:
            raise InputError(f"{where}: {key}: unknown key")
    study = parse_object(Study, fields, where)
    data = study.data
    try:
        check_references(data, study.model, study.workload, folder)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if data.path is not None and not data.path.is_absolute():
        data = replace(data, path=folder / data.path)
    return replace(study, data=data, folder=folder, where=where)


def load_study(path: Path) -> Study:
    """The study in a TOML file; paths in it are taken relative to the file's folder."""
    return study_from_object(read_toml(path), str(path), path.parent)
