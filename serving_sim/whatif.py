"""What-ifs of a plan: axes of values, the plans that their combinations stand for, and what each comes to.

An axis is a key of the plan, as `--set` has it, or one of:

- `qps`, `sla_ms`: the load and the SLA;
- `add`: one server more on that device; `fail`: the plan without that device and its paths; an empty name: as it is;
- `cache`: a factor on the capacity of all caches.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from profiles.edge import read_toml
from profiles.errors import InputError, UnknownNameError
from serving_sim.class_metrics import or_none
from serving_sim.error_bars import LATE
from serving_sim.grid import GridCell, simulate_grid
from serving_sim.plan import Plan, edit_plan, plan_from_object
from serving_sim.plan.checks import require_at_least
from serving_sim.policies import PolicyLike
from serving_sim.reliability import without_device

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Axis", "WhatIf", "axes_from_file", "axis_from_text", "explore", "whatif_frame"]

Value = str | int | float | bool
_MOST_CELLS = 100_000
_FIGURES = (
    "sla_violation_share",
    "correct_predictions_in_sla_per_s",
    "accuracy",
    "cost_per_hour",
    "cost_per_million_correct",
)
_ENDS = ("ci_low", "ci_high", "table_low", "table_high")
_CHANGES = ("sla_violation_share", "correct_predictions_in_sla_per_s", "cost_per_hour")


@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """A key and the values that it takes."""

    key: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise InputError(f"vary {self.key}: must have at least one value")
        if len(set(self.values)) < len(self.values):
            raise InputError(f"vary {self.key}: values must differ, but got {list(self.values)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class WhatIf:
    """One combination of the axes' values, and what it came to."""

    values: tuple[Value, ...]
    cell: GridCell


def axis_from_text(text: str) -> Axis:
    """The axis in `KEY=V1,V2,...`; values are read as numbers where they can be.

    Raises:
        InputError: no key or no value.
    """
    key, equals, values = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--vary {text!r}: must be KEY=VALUE,VALUE,...")
    return Axis(key=key.strip(), values=tuple(_value(one.strip()) for one in values.split(",")))


def axes_from_file(file: Path) -> tuple[Axis, ...]:
    """The axes in the table `[vary]` of a TOML file.

    Raises:
        InputError: no such file, not TOML, or another form; names the file and the key.
    """
    body = read_toml(file)
    table = body.get("vary")
    if not isinstance(table, dict) or set(body) != {"vary"}:
        raise InputError(f"{file}: must have one table [vary] of keys and lists of values")
    axes = []
    for key, values in table.items():
        if not isinstance(values, list) or not all(isinstance(one, str | int | float | bool) for one in values):
            raise InputError(f"{file}: vary.{key}: must be a list of numbers or names, but got {values!r}")
        try:
            axes.append(Axis(key=key, values=tuple(values)))
        except InputError as error:
            raise InputError(f"{file}: {error}") from error
    return tuple(axes)


def explore(
    plan: Plan,
    axes: Sequence[Axis],
    *,
    policy: PolicyLike | None = None,
    workers: int | None = None,
    ray: str | None = None,
    intervals: bool = False,
) -> tuple[GridCell, tuple[WhatIf, ...]]:
    """The plan as it is, and every combination of the axes' values in their order, under the same queries.

    With `intervals` every cell has error bars.

    Raises:
        InputError: an unknown key, device or value (`vary KEY=VALUE: ...`), a key that comes twice, more than 100,000
            combinations.
    """
    keys = [axis.key for axis in axes]
    if doubled := {key for key in keys if keys.count(key) > 1}:
        raise InputError(f"vary: a key may come once, but {sorted(doubled)} come more than once")
    _require_known(keys)
    combinations = list(product(*(axis.values for axis in axes)))
    if len(combinations) > _MOST_CELLS:
        raise InputError(f"vary: must have at most {_MOST_CELLS} combinations, but has {len(combinations)}")
    plans = [plan, *_plans(plan, keys, combinations)]
    base, *cells = simulate_grid(plans, policy=policy, workers=workers, ray=ray, intervals=intervals)
    return base, tuple(WhatIf(values=values, cell=cell) for values, cell in zip(combinations, cells, strict=True))


def whatif_frame(axes: Sequence[Axis], base: GridCell, found: Iterable[WhatIf]) -> "pl.DataFrame":
    """A row per combination: its values, its figures, and (`..._change`) their difference to the plan as it is.

    Where cells have error bars, their ends are `..._ci_low`, `..._ci_high`, `..._table_low` and `..._table_high`.
    """
    import polars as pl

    rows = []
    for one in found:
        cell = one.cell
        rows.append(
            {axis.key: value for axis, value in zip(axes, one.values, strict=True)}
            | {"at_qps": cell.qps, "at_sla_ms": cell.sla_ms, "verdict": cell.verdict, "holds_sla": cell.holds_sla}
            | {f"{name}_ms": or_none(value) for name, value in cell.latency_ms.items()}
            | {"p99_over_sla": or_none(cell.p99_over_sla)}
            | {name: getattr(cell, name) for name in _FIGURES}
            | {f"{name}_change": _change(getattr(cell, name), getattr(base, name)) for name in _CHANGES}
            | _ends(cell)
        )
    return pl.DataFrame(rows, infer_schema_length=None, strict=False)


def _ends(cell: GridCell) -> dict[str, float | None]:
    columns = {name: name if name == LATE else f"{name}_ms" for name in cell.error_bars}
    return {f"{columns[name]}_{end}": getattr(bar, end) for name, bar in cell.error_bars.items() for end in _ENDS}


def _change(value: float | None, before: float | None) -> float | None:
    return None if value is None or before is None else value - before


def _require_known(keys: Iterable[str]) -> None:
    """That each is a shorthand, or begins with a part of the plan."""
    known = ("qps", "sla_ms", *_SHORTHANDS, *(part.name for part in fields(Plan)))
    for key in keys:
        if key.partition(".")[0] not in known:
            raise UnknownNameError(f"vary {key}", key, known)


def _plans(plan: Plan, keys: Sequence[str], combinations: Iterable[tuple[Value, ...]]) -> Iterator[Plan]:
    """Plans of one structure share its tuples, so that the grid knows them again at once."""
    edited: dict[tuple[Value, ...], Plan] = {}
    load = [key in ("qps", "sla_ms") for key in keys]
    for values in combinations:
        own = tuple(value for value, is_load in zip(values, load, strict=True) if not is_load)
        if own not in edited:
            edited[own] = _edited(plan, [key for key in keys if key not in ("qps", "sla_ms")], own)
        loads = {key: value for key, value, is_load in zip(keys, values, load, strict=True) if is_load}
        yield _loaded(edited[own], loads) if loads else edited[own]


def _loaded(plan: Plan, loads: Mapping[str, Value]) -> Plan:
    with _varying(loads):
        if "sla_ms" in loads and plan.workload.classes:
            raise InputError("sla_ms: the plan's classes of queries have their own; vary workload.classes.NAME.sla_ms")
        return plan.at(**{key: _number(key, value) for key, value in loads.items()})


def _edited(plan: Plan, keys: Sequence[str], values: Sequence[Value]) -> Plan:
    changed, varied = plan, dict(zip(keys, values, strict=True))
    edits = {key: value for key, value in varied.items() if key not in _SHORTHANDS}
    if edits:
        with _varying(edits):
            changed = plan_from_object(edit_plan(plan.to_object(), [f"{key}={value}" for key, value in edits.items()]))
    for key in [key for key in keys if key in _SHORTHANDS]:
        with _varying({key: varied[key]}):
            changed = _SHORTHANDS[key](changed, varied[key])
    return changed


@contextmanager
def _varying(varied: Mapping[str, Value]) -> Iterator[None]:
    """A complaint about what is varied begins with it: `vary KEY=VALUE: ...`."""
    try:
        yield
    except InputError as error:
        complaint = str(error).removeprefix("plan: ").removeprefix("--set ")
        for key in varied:
            complaint = complaint.removeprefix(f"{key}: ")
        said = ", ".join(f"{key}={value}" for key, value in varied.items())
        raise InputError(f"vary {said}: {complaint}") from error


def _with_one_more(plan: Plan, device: Value) -> Plan:
    if device == "":
        return plan
    _require_device(plan, "add", device)
    return replace(
        plan,
        devices=tuple(
            replace(
                one,
                servers=one.servers + 1,
                price_per_hour=None
                if one.price_per_hour is None
                else one.price_per_hour * (one.servers + 1) / one.servers,
            )
            if one.name == device
            else one
            for one in plan.devices
        ),
    )


def _without(plan: Plan, device: Value) -> Plan:
    if device == "":
        return plan
    return without_device(plan, str(device))


def _with_caches(plan: Plan, factor: Value) -> Plan:
    if not plan.caches:
        raise InputError("cache: the plan has no caches")
    share = _number("cache", factor)
    require_at_least("cache", share, 0)
    return replace(
        plan,
        caches=tuple(replace(one, capacity_bytes=round(one.capacity_bytes * share)) for one in plan.caches),
    )


_SHORTHANDS = {"add": _with_one_more, "fail": _without, "cache": _with_caches}


def _require_device(plan: Plan, key: str, device: Value) -> None:
    names = [one.name for one in plan.devices]
    if device not in names:
        raise UnknownNameError(key, str(device), names)


def _number(key: str, value: Value) -> float:
    if isinstance(value, str | bool):
        raise InputError(f"{key}: must be a number, but got {value!r}")
    return value


def _value(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
