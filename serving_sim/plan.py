"""The plan: everything that the simulator and the live replay read, as frozen data with a JSON form.

A plan stands on its own: what-ifs are edits of it (`edit_plan`), never of what it was made from.
"""

import json
import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any, ClassVar, Literal

from profiles.edge import STRICT, parse_object, read_json, shown
from profiles.errors import InputError, UnknownNameError
from profiles.files import replace_file

__all__ = [
    "HIGHEST_QPS",
    "LOWEST_QPS",
    "MOST_QUERIES",
    "MOST_SERVERS",
    "SCHEMA",
    "Arrivals",
    "Device",
    "LatencyTable",
    "Path",
    "Plan",
    "PolicyChoice",
    "Sizes",
    "Workload",
    "edit_plan",
    "edited_options",
    "load_plan",
    "plan_from_object",
]

SCHEMA = "recplan.plan/1"
# Wide of any real system, and narrow enough that times and sums of a run keep their precision.
LOWEST_QPS, HIGHEST_QPS = 1e-6, 1e9
MOST_SERVERS = 100_000
MOST_QUERIES = 10**10
PathProvenance = Literal["measured", "predicted", "estimated", "given"]


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencyTable:
    """Service latency over query size (samples), log-log interpolated between `sizes`.

    `low_ms` and `high_ms` bound the mean's 90 % error interval. `spread` says how single queries scatter about the
    mean: a factor of mean 1, lognormal with `sigma`, exponential (for queueing theory), or none.
    """

    __pydantic_config__: ClassVar = STRICT
    sizes: tuple[int, ...]
    mean_ms: tuple[float, ...]
    low_ms: tuple[float, ...] = ()
    high_ms: tuple[float, ...] = ()
    spread: Literal["none", "lognormal", "exponential"] = "none"
    sigma: float = 0.0

    def __post_init__(self) -> None:
        if not self.sizes or self.sizes[0] < 1 or any(b <= a for a, b in zip(self.sizes, self.sizes[1:], strict=False)):
            raise InputError(f"sizes: must be increasing and >= 1, but got {list(self.sizes)}")
        for name in ("mean_ms", "low_ms", "high_ms"):
            values = getattr(self, name)
            if (values or name == "mean_ms") and len(values) != len(self.sizes):
                raise InputError(f"{name}: must have {len(self.sizes)} entries as sizes has, but got {len(values)}")
            if not all(value > 0 and math.isfinite(value) for value in values):
                raise InputError(f"{name}: must be finite and > 0, but got {list(values)}")
        for low, high in zip(self.low_ms, self.high_ms, strict=False):
            if low > high:
                raise InputError(f"low_ms: must not be above high_ms, but got {low} above {high}")
        if not 0 <= self.sigma < 10:
            raise InputError(f"sigma: must be in [0, 10), but got {self.sigma}")
        if any(b < a for a, b in zip(self.mean_ms, self.mean_ms[1:], strict=False)):
            warnings.warn(f"mean_ms decreases with size and is kept as given: {list(self.mean_ms)}", stacklevel=2)


@dataclass(frozen=True, kw_only=True, slots=True)
class Device:
    """A device that serves: `servers` queries at a time, first come first served."""

    __pydantic_config__: ClassVar = STRICT
    name: str
    kind: str = ""
    title: str = ""
    servers: int = 1
    memory_bytes: int | None = None
    price_per_hour: float | None = None
    busy_w: float | None = None
    idle_w: float | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("name: must not be empty")
        if self.servers < 1:
            raise InputError(f"servers: must be >= 1, but got {self.servers} ({self.name})")
        if self.servers > MOST_SERVERS:
            raise InputError(f"servers: must be <= {MOST_SERVERS}, but got {self.servers} ({self.name})")
        for name in ("price_per_hour", "busy_w", "idle_w"):
            value = getattr(self, name)
            if value is not None and not (value >= 0 and math.isfinite(value)):
                raise InputError(f"{name}: must be finite and >= 0, but got {value} ({self.name})")


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """A trained representation on a device. `accuracy` is the share of correct predictions on held-out data."""

    __pydantic_config__: ClassVar = STRICT
    name: str
    representation: str
    device: str
    accuracy: float
    latency: LatencyTable
    parameter_bytes: int = 0
    auc: float | None = None
    log_loss: float | None = None
    provenance: PathProvenance = "given"
    candidate: str = ""
    model: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("name: must not be empty")
        if not 0 <= self.accuracy <= 1:
            raise InputError(f"accuracy: must be in [0, 1], but got {self.accuracy} ({self.name})")


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrivals:
    """When queries come: exponential gaps, gamma gaps of coefficient of variation `cv`, or a trace rescaled to the QPS.

    `source` of a trace is a built-in name (`azure-conversation`) or a file of arrival times in seconds.
    """

    __pydantic_config__: ClassVar = STRICT
    process: Literal["poisson", "gamma", "trace"] = "poisson"
    cv: float = 1.0
    source: str = ""

    def __post_init__(self) -> None:
        if not (self.cv > 0 and math.isfinite(self.cv)):
            raise InputError(f"cv: must be finite and > 0, but got {self.cv}")
        if (self.process == "trace") != bool(self.source):
            raise InputError("source: goes with process 'trace', and is needed there")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """Samples per query, whole and in [1, `maximum`]: fixed at `mean`, lognormal with `sigma` and, once rounded and
    clipped, that mean, or a trace's sizes rescaled to that mean and then clipped.
    """

    __pydantic_config__: ClassVar = STRICT
    distribution: Literal["fixed", "lognormal", "trace"] = "lognormal"
    mean: float = 128.0
    sigma: float = 1.0
    maximum: int = 4096
    source: str = ""

    def __post_init__(self) -> None:
        if not (1 <= self.mean <= self.maximum):
            raise InputError(f"mean: must be in [1, maximum = {self.maximum}], but got {self.mean}")
        if not 0 <= self.sigma < 10:
            raise InputError(f"sigma: must be in [0, 10), but got {self.sigma}")
        if (self.distribution == "trace") != bool(self.source):
            raise InputError("source: goes with distribution 'trace', and is needed there")


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """The load: queries per second, the SLA and the percentile that must hold it."""

    __pydantic_config__: ClassVar = STRICT
    qps: float
    sla_ms: float
    percentile: float = 99.0
    queries: int = 100_000
    arrivals: Arrivals = field(default_factory=Arrivals)
    sizes: Sizes = field(default_factory=Sizes)

    def __post_init__(self) -> None:
        for name in ("qps", "sla_ms"):
            value = getattr(self, name)
            if not (value > 0 and math.isfinite(value)):
                raise InputError(f"{name}: must be finite and > 0, but got {value}")
        if not LOWEST_QPS <= self.qps <= HIGHEST_QPS:
            raise InputError(f"qps: must be in [{LOWEST_QPS:g}, {HIGHEST_QPS:g}], but got {self.qps}")
        if not 0 < self.percentile < 100:
            raise InputError(f"percentile: must be in (0, 100), but got {self.percentile}")
        if not 1 <= self.queries <= MOST_QUERIES:
            raise InputError(f"queries: must be in [1, {MOST_QUERIES}], but got {self.queries}")


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyChoice:
    """Which policy routes queries: its registered name and its options, e.g. `path` for `static`."""

    __pydantic_config__: ClassVar = STRICT
    name: str = "mp-rec"
    options: dict[str, str | float | int | bool] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Paths on devices under a workload."""

    __pydantic_config__: ClassVar = STRICT
    name: str
    devices: tuple[Device, ...]
    paths: tuple[Path, ...]
    workload: Workload
    policy: PolicyChoice = field(default_factory=PolicyChoice)
    seed: int = 0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise InputError(f"seed: must be >= 0, but got {self.seed}")
        _require_unique("devices", [device.name for device in self.devices])
        _require_unique("paths", [path.name for path in self.paths])
        names = [device.name for device in self.devices]
        for path in self.paths:
            if path.device not in names:
                raise UnknownNameError(f"paths.{path.name}.device", path.device, names)

    def device_of(self, path: Path) -> int:
        """Index of the path's device."""
        return [device.name for device in self.devices].index(path.device)

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
    return parse_object(Plan, fields, where)


def load_plan(file: FilePath, edits: Iterable[str] = ()) -> Plan:
    """The plan in a JSON file, with `KEY=VALUE` edits applied."""
    return plan_from_object(edit_plan(read_json(file), edits), str(file))


def edit_plan(body: Mapping[str, Any], edits: Iterable[str]) -> dict[str, Any]:
    """A copy of a plan's JSON form with dotted keys replaced, e.g. `workload.qps=2000` or `devices.gpu.servers=2`.

    Values are read as JSON where they can be, else as text. List items are named by their `name` or their index.
    Another `policy.name` leaves the former policy's options behind.

    Raises:
        InputError: an edit without `=`, or a key that the plan does not have (with the keys it has there).
    """
    edited: dict[str, Any] = json.loads(json.dumps(body))
    edits = tuple(edits)
    for edit in edits:
        key, equals, text = edit.partition("=")
        if not equals or not key:
            raise InputError(f"--set {edit!r}: must be KEY=VALUE")
        *parents, last = key.strip().split(".")
        node: Any = edited
        for step in parents:
            node = node[_place(node, step, key)]
        place = _place(node, last, key)
        node[place] = _value(text)
    _drop_options_of_another_policy(body, edited, edited_options(edits))
    return edited


def edited_options(edits: Iterable[str]) -> tuple[str, ...]:
    """The policy's options that edits set, by name."""
    names: list[str] = []
    for left, _, text in (edit.partition("=") for edit in edits):
        key = left.strip()
        if key == "policy.options" and isinstance(options := _value(text), dict):
            names += options
        elif key.startswith("policy.options."):
            names.append(key.removeprefix("policy.options."))
    return tuple(names)


def _drop_options_of_another_policy(body: Mapping[str, Any], edited: dict[str, Any], kept: tuple[str, ...]) -> None:
    before, after = body.get("policy"), edited.get("policy")
    if isinstance(before, dict) and isinstance(after, dict) and before.get("name") != after.get("name"):
        options = after.get("options")
        if isinstance(options, dict):
            after["options"] = {name: value for name, value in options.items() if name in kept}


def _place(node: Any, step: str, key: str) -> Any:
    if isinstance(node, dict):
        # Options are free-form: a new key there is the policy's business.
        if step in node or key.startswith("policy.options."):
            return step
        raise UnknownNameError(f"--set {key}", step, node)
    if isinstance(node, list):
        names = [item.get("name", "") if isinstance(item, dict) else "" for item in node]
        if step in names:
            return names.index(step)
        if step.isdigit() and int(step) < len(node):
            return int(step)
        raise UnknownNameError(f"--set {key}", step, [name or str(i) for i, name in enumerate(names)])
    raise InputError(f"--set {key}: {step!r} is below a plain value")


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _require_unique(where: str, names: list[str]) -> None:
    if not names:
        raise InputError(f"{where}: must not be empty")
    if doubled := {name for name in names if names.count(name) > 1}:
        raise InputError(f"{where}: names must be unique, but {sorted(doubled)} come more than once")
