"""The search: what was tried, and the candidates that nothing else beats on every objective."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from planner.report.blocks import CellKind, Chart, Column, Row, Rows, Section, Table
from planner.report.cells import format_number, format_value
from planner.report.frames import frame_of
from planner.report.inputs import SearchInputs
from planner.report.provenance import Provenance, weakest
from planner.report.restyle import grade_marks, undash
from planner.search.charts import front_chart
from planner.search.frames import CHOICE_COLUMNS
from planner.search.objective import METRICS
from planner.search.objective_charts import (
    forecast_chart,
    importances_chart,
    objectives_chart,
    parallel_chart,
    volume_chart,
)
from planner.study import OBJECTIVES

__all__ = ["front_rows", "objective_title", "pareto_rows", "search_section", "shown_objective"]

_TITLE = "The search and its Pareto front"
_CHARTED = ("name", "state", "log_loss", "parameter_bytes", "flops", "reason", "train_seconds")
# How each objective and limit is called, and how its values read.
_SHOWN: Mapping[str, tuple[str, CellKind]] = {
    "accuracy": ("accuracy", "accuracy"),
    "auc": ("AUC", "auc"),
    "capacity_qps": ("capacity", "rate"),
    "cost_per_million": ("cost per million samples", "number"),
    "energy_j": ("energy (J)", "number"),
    "flops": ("FLOPs", "flops"),
    "latency_ms": ("latency", "ms"),
    "latency_p50_ms": ("p50 latency", "ms"),
    "latency_p99_ms": ("p99 latency", "ms"),
    "log_loss": ("log loss", "auc"),
    "memory_share": ("share of the device's memory", "number"),
    "parameter_bytes": ("parameters", "bytes"),
    "peak_memory_bytes": ("peak memory", "bytes"),
}
_COLUMNS = (
    Column(key="number", title="Trial", kind="integer"),
    Column(key="name", title="Candidate"),
    Column(key="representation", title="Representation"),
    Column(key="auc", title="AUC", kind="auc", note="on validation rows, by which the search judges"),
    Column(key="log_loss", title="Log loss", kind="auc", note="on validation rows"),
    Column(key="test_auc", title="Test AUC", kind="auc", note="on rows that no choice looked at"),
    Column(key="test_accuracy", title="Test accuracy", kind="accuracy", note="share right on those rows"),
    Column(key="latency_ms", title="Latency", kind="ms", graded=True),
    Column(key="provenance", title="Latency is", kind="provenance"),
    Column(key="parameter_bytes", title="Parameters", kind="bytes"),
    Column(key="flops", title="FLOPs", kind="flops", note="per sample, 2 per multiply-add"),
    Column(
        key="simulated_qps",
        title="Simulated",
        kind="rate",
        graded=True,
        note="capacity as the simulator finds it; the search's own comes from queueing formulas",
    ),
    Column(key="train_seconds", title="Training (s)", kind="number"),
)
_REASONS = (
    Column(key="number", title="Trial", kind="integer"),
    Column(key="name", title="Candidate"),
    Column(key="description", title="Choices"),
    Column(key="why", title="Why it is here"),
    Column(key="trade", title="To the next"),
)
# Further objectives stand behind FLOPs.
_OBJECTIVES_AT = 1 + next(place for place, column in enumerate(_COLUMNS) if column.key == "flops")


def objective_title(name: str) -> str:
    """What an objective or a limit is called."""
    return _SHOWN.get(name, (name, "number"))[0]


def shown_objective(name: str, value: float) -> str:
    """A value of an objective or a limit, with its unit."""
    return format_value(value, _kind_of(name))


def _kind_of(name: str) -> CellKind:
    return _SHOWN[name][1] if name in _SHOWN else "number"


def search_section(search: SearchInputs | None, *, fold: bool = True) -> Section:
    """The front, and the table of its members; with `fold` how the search went is folded away."""
    if search is None:
        return Section(anchor="search", title=_TITLE, short="Search", missing="No search was run.")
    members = pareto_rows(search)
    more = _more_charts(search)
    columns = (*_COLUMNS[:_OBJECTIVES_AT], *_further(search.objectives), *_COLUMNS[_OBJECTIVES_AT:])
    tables = (
        Table(name="pareto", caption="Members of the front", columns=columns, rows=members, highlight="chosen"),
        Table(name="reasons", caption="Why they are there", columns=_REASONS, rows=members, highlight="chosen"),
    )
    return Section(
        anchor="search",
        title=_TITLE,
        short="Search",
        prose=_prose(search, members),
        charts=(_front(search), *(more[:1] if fold else more)) if search.trials else (),
        folded=more[1:] if fold else (),
        folded_title="How the search went",
        tables=tables,
        notes=(f"To rebuild and train a member: {search.rebuild}",) if search.rebuild else (),
    )


def pareto_rows(search: SearchInputs) -> Rows:
    """The members of the front, the best by the first objective first, with the chosen one marked."""
    first = search.objectives[0]
    sign = -1 if OBJECTIVES.get(first) else 1
    reasons = {row["number"]: {**row, "trade": _trade(row)} for row in search.reasons}
    members: list[Row] = [
        {
            **row,
            **{key: reasons.get(row["number"], {}).get(key) for key in ("why", "trade")},
            "provenance": row.get("provenance") or "predicted",
            "chosen": row["number"] == search.chosen,
        }
        for row in search.trials
        if row.get("pareto")
    ]
    return tuple(sorted(members, key=lambda row: (sign * (row.get(first) or 0.0), row["number"])))


def front_rows(search: SearchInputs) -> Rows:
    """All trials as the chart wants them; `on_front` says that none is better in both AUC and latency."""
    known = [row for row in search.trials if row.get("auc") is not None and row.get("latency_ms") is not None]
    absent = dict.fromkeys((*CHOICE_COLUMNS, *_CHARTED))
    return tuple(
        {
            **absent,
            **row,
            "provenance": _provenance(search),
            "on_front": row in known and not any(_beats(other, row) for other in known),
        }
        for row in search.trials
    )


def _further(objectives: Sequence[str]) -> tuple[Column, ...]:
    """Columns of the objectives that every table of members does not have."""
    known = {column.key for column in _COLUMNS}
    further = [name for name in objectives if name not in known]
    titles = [objective_title(name) for name in further]
    return tuple(
        Column(key=name, title=f"{title[0].upper()}{title[1:]}", kind=_kind_of(name), graded=name not in METRICS)
        for name, title in zip(further, titles, strict=True)
    )


def _trade(reason: Row) -> str:
    """What the next member gives up, and whether that is more than chance."""
    return f"{reason['trade']}{'; within the noise of seeds' if reason.get('within_noise') else ''}"


def _more_charts(search: SearchInputs) -> tuple[Chart, ...]:
    """Objectives to be chosen, growth of the hypervolume, importances, parallel coordinates: those that are known."""
    trained = tuple(row for row in search.trials if all(row.get(name) is not None for name in search.objectives))
    found = []
    if len(trained) > 1:
        keys = ("number", "name", "representation", "pareto", *search.objectives)
        rows = tuple({key: row.get(key) for key in keys} for row in trained)
        spec = objectives_chart(frame_of(rows), search.objectives).to_dict()
        title, summary = "Any objectives", f"{len(rows)} trained candidates in three objectives, which can be chosen."
        note = "A brush over the points fills the table below them; large marks are on the front."
        found.append(Chart(name="objectives", title=title, summary=summary, spec=spec, rows=rows, note=note))
    metric = next((name for name in search.objectives if name in METRICS), "")
    drawn = (
        ("volume", "Growth", "How the covered hypervolume grew with training.", search.volume, volume_chart),
        (
            "forecasts",
            "Expectations",
            "What was expected of each trial, and what it reached.",
            search.forecasts,
            partial(forecast_chart, metric=metric),
        ),
        ("importances", "Importances", "What explains differences.", search.importances, importances_chart),
        (
            "parallel",
            "Choices",
            "The choices and objectives of each trained candidate.",
            search.parallel,
            parallel_chart,
        ),
    )
    for name, title, summary, points, draw in drawn:
        if points:
            spec = draw(frame_of(points)).to_dict()
            found.append(Chart(name=f"search_{name}", title=title, summary=summary, spec=spec, rows=points))
    return tuple(found)


def _beats(other: Row, row: Row) -> bool:
    is_no_worse = other["auc"] >= row["auc"] and other["latency_ms"] <= row["latency_ms"]
    return bool(is_no_worse and (other["auc"], other["latency_ms"]) != (row["auc"], row["latency_ms"]))


def _provenance(search: SearchInputs) -> Provenance:
    """What the latencies rest on; trials that say nothing are predicted."""
    return weakest(row.get("provenance") or "predicted" for row in search.trials)


def _front(search: SearchInputs) -> Chart:
    rows = front_rows(search)
    spec = grade_marks(undash(front_chart(frame_of(rows), device=_judged_on(search)).to_dict()))
    return Chart(
        name="front",
        title="Quality over latency",
        summary=f"{len(rows)} candidates by validation AUC and latency, with the front of the two as a line.",
        spec=_estimated(spec) if _provenance(search) == "estimated" else spec,
        rows=rows,
        note="Large marks are on the front over all objectives; the line joins the best in the two shown here. "
        "Grey at the foot: not trained, being outside the limits or failed.",
    )


def _estimated(spec: dict[str, Any]) -> dict[str, Any]:
    """The chart with an axis that says so, for a device that was never measured."""
    text = json.dumps(spec).replace('"predicted latency', '"estimated latency')
    said: dict[str, Any] = json.loads(text)
    return said


def _prose(search: SearchInputs, members: Rows) -> tuple[str, ...]:
    feasible = sum(bool(row.get("feasible")) for row in search.trials)
    objectives = ", ".join(map(objective_title, search.objectives))
    text = (
        f"{len(search.trials)} candidates were tried, {feasible} of them within the limits"
        f"{_limits(search)}; {len(members)} {'is' if len(members) == 1 else 'are'} on the front over {objectives}."
    )
    device, batch = _judged_on(search), 0 if _have_own(search, "batch") else search.latency_batch
    where = f" on {device}" if device else " where each is judged" if search.latency_device else ""
    size = f" for a query of {batch:,} samples" if batch else ""
    latency = f"Latency is {_provenance(search)}{where}{size}; accuracy comes from training."
    first = f"Before any training: {search.screened}." if search.screened else ""
    return (f"{text} {latency}{_hypervolume(search)}", *((first,) if first else ()))


def _judged_on(search: SearchInputs) -> str:
    """The device of all latencies; empty where trials chose their own."""
    return "" if _have_own(search, "device") else search.latency_device


def _have_own(search: SearchInputs, choice: str) -> bool:
    return any(row.get(choice) for row in search.trials)


def _limits(search: SearchInputs) -> str:
    limits = [
        f"{objective_title(name)} {'≥' if OBJECTIVES.get(name) else '≤'} {shown_objective(name, value)}"
        for name, value in search.constraints.items()
    ]
    return f" ({', '.join(limits)})" if limits else ""


def _hypervolume(search: SearchInputs) -> str:
    return "" if search.hypervolume is None else f" Hypervolume: {format_number(search.hypervolume)}."
