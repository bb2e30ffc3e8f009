"""The mapping: which representations stand on which devices, what they take of the budgets, and why."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from planner.report.blocks import Chart, Column, Row, Rows, Section, Table
from planner.report.inputs import MappingInputs
from planner.report.provenance import grade
from planner.report.specs import SPARSE_SHARE, memory_spec, taken_per_device
from profiles.units import format_bytes
from serving_sim.plan import Device, Path, Plan, plan_from_object

__all__ = ["mapping_section", "memory_rows", "path_rows"]

_TITLE = "Which path stands where"
_LEAST_DRAWN = 0.05
_PATHS = (
    Column(key="path", title="Path"),
    Column(key="representation", title="Representation"),
    Column(key="device", title="Device"),
    Column(key="parameter_bytes", title="Parameters", kind="bytes"),
    Column(key="budget_share", title="Of the budget", kind="bar"),
    Column(key="accuracy", title="Accuracy", kind="accuracy"),
    Column(key="auc", title="AUC", kind="auc"),
    Column(
        key="latency_ms",
        title="Latency",
        kind="ms",
        graded=True,
        note="mean, at the query size nearest to the workload's mean",
    ),
    Column(key="latency_size", title="at size", kind="integer"),
    Column(key="provenance", title="Latency is", kind="provenance"),
)
_DECISIONS = (
    Column(key="device", title="Device"),
    Column(
        key="role",
        title="Step",
        note="hybrid: the best one; table: for tight SLAs; between: a DHE beside those two; "
        "compact: for a small memory; device: whether the device is used",
    ),
    Column(key="candidate", title="Candidate"),
    Column(key="representation", title="Representation"),
    Column(key="parameter_bytes", title="Parameters", kind="bytes"),
    Column(key="reason", title="Why"),
)


def mapping_section(plan_object: Mapping[str, Any] | None, mapping: MappingInputs | None) -> Section:
    """Paths, memory, and the decisions for and against."""
    if plan_object is None:
        return Section(anchor="mapping", title=_TITLE, short="Mapping", missing="No plan was made in this run.")
    plan = plan_from_object(plan_object)
    memory = memory_rows(plan)
    tables = (Table(name="paths", caption="Paths of the plan", columns=_PATHS, rows=path_rows(plan)),)
    decisions = mapping.decisions if mapping is not None else ()
    return Section(
        anchor="mapping",
        title=_TITLE,
        short="Mapping",
        prose=(_prose(plan, kept_known=bool(decisions)),),
        charts=_memory_charts(memory),
        tables=tables + _decision_tables(decisions) + tuple(_text_tables(mapping.tables if mapping else ())),
        notes=plan.notes,
    )


def path_rows(plan: Plan) -> Rows:
    """One row per path, with its latency at the tabulated size nearest to the workload's mean."""
    return tuple(_path_row(plan, path) for path in plan.paths)


def memory_rows(plan: Plan) -> Rows:
    """What each path's parameters take of its device's budget; devices without a budget are left out."""
    return tuple(
        {
            "device": device.name,
            "path": path.name,
            "parameters": format_bytes(path.parameter_bytes),
            "budget": format_bytes(device.memory_bytes),
            "share": path.parameter_bytes / device.memory_bytes,
            "order": order,
        }
        for order, path in enumerate(plan.paths)
        if (device := plan.devices[plan.device_of(path)]).memory_bytes
    )


def _path_row(plan: Plan, path: Path) -> Row:
    device: Device = plan.devices[plan.device_of(path)]
    table = path.latency
    nearest = min(range(len(table.sizes)), key=lambda i: abs(table.sizes[i] - plan.workload.sizes.mean))
    return {
        "path": path.name,
        "representation": path.representation,
        "device": device.name,
        "parameter_bytes": path.parameter_bytes,
        "budget_share": path.parameter_bytes / device.memory_bytes if device.memory_bytes else None,
        "accuracy": path.accuracy,
        "auc": path.auc,
        "latency_ms": table.mean_ms[nearest],
        "latency_size": table.sizes[nearest],
        "provenance": grade(path.provenance),
    }


def _decision_tables(decisions: Rows) -> tuple[Table, ...]:
    kept = tuple(row for row in decisions if row["candidate"])
    left = tuple(row for row in decisions if not row["candidate"])
    tables = []
    if kept:
        tables.append(Table(name="kept", caption="Chosen, and why", columns=_DECISIONS, rows=kept))
    if left:
        columns = tuple(replace(column, note="") for column in _DECISIONS)
        tables.append(Table(name="left_out", caption="Passed over, and why", columns=columns, rows=left))
    return tuple(tables)


def _text_tables(found: Rows) -> Iterator[Table]:
    """What the mapping found beside its decisions, as it was written."""
    for place, one in enumerate(found):
        keys = [f"column_{i}" for i in range(len(one["columns"]))]
        columns = tuple(
            Column(key=key, title=title[:1].upper() + title[1:], kind="text" if i < one["text_columns"] else "words")
            for i, (key, title) in enumerate(zip(keys, one["columns"], strict=True))
        )
        rows = tuple(dict(zip(keys, row, strict=True)) for row in one["rows"])
        note = "; ".join(one["notes"])
        yield Table(name=f"mapping_{place}", caption=one["title"], columns=columns, rows=rows, note=note)


def _prose(plan: Plan, *, kept_known: bool) -> str:
    devices = f"{len(plan.devices)} device{'s' if len(plan.devices) != 1 else ''}"
    text = f"The plan holds {len(plan.paths)} path{'s' if len(plan.paths) != 1 else ''} on {devices}."
    return text if kept_known else f"{text} It does not say how they were chosen."


def _memory_charts(rows: Rows) -> tuple[Chart, ...]:
    """None where no budget is worth a picture: the table of paths has the shares."""
    fullest = max(taken_per_device(rows).values(), default=0.0)
    if fullest < _LEAST_DRAWN:
        return ()
    is_sparse = fullest < SPARSE_SHARE
    chart = Chart(
        name="memory",
        title="Memory budget taken, per device",
        summary="Stacked bars: the share of each device's memory budget that its paths' parameters take.",
        spec=memory_spec(rows),
        rows=rows,
        note="The axis ends long before the whole budget." if is_sparse else "The line at 100 % is the whole budget.",
    )
    return (chart,)
