"""The search: what was tried, and the candidates that nothing else beats on every objective."""

import json
from typing import Any

from planner.report.blocks import Chart, Column, Row, Rows, Section, Table
from planner.report.cells import format_number
from planner.report.frames import frame_of
from planner.report.inputs import SearchInputs
from planner.report.provenance import Provenance, weakest
from planner.report.restyle import grade_marks, undash
from planner.search.charts import front_chart
from planner.search.frames import CHOICE_COLUMNS
from planner.search.objective_charts import importances_chart, objectives_chart, parallel_chart, volume_chart
from profiles.units import format_bytes, format_count, format_ms

__all__ = ["front_rows", "pareto_rows", "search_section"]

_TITLE = "The search and its Pareto front"
_CHARTED = ("name", "state", "log_loss", "parameter_bytes", "flops", "reason", "train_seconds")
_NAMES = {
    "auc": "AUC",
    "flops": "FLOPs",
    "latency_ms": "latency",
    "log_loss": "log loss",
    "parameter_bytes": "parameters",
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
    Column(key="why", title="Why it is here"),
    Column(key="trade", title="To the next"),
    Column(key="train_seconds", title="Training (s)", kind="number"),
)


def search_section(search: SearchInputs | None) -> Section:
    """The front, and the table of its members."""
    if search is None:
        return Section(anchor="search", title=_TITLE, short="Search", missing="No search was run.")
    members = pareto_rows(search)
    more = _more_charts(search)
    tables = (Table(name="pareto", caption="Members of the front", columns=_COLUMNS, rows=members, highlight="chosen"),)
    return Section(
        anchor="search",
        title=_TITLE,
        short="Search",
        prose=_prose(search, members),
        charts=(_front(search), *more[:1]) if search.trials else (),
        folded=more[1:],
        folded_title="How the search went",
        tables=tables,
        notes=(f"To rebuild and train a member: {search.rebuild}",) if search.rebuild else (),
    )


def pareto_rows(search: SearchInputs) -> Rows:
    """The members of the front, the best first, with the chosen one marked."""
    reasons = {row["number"]: {**row, "trade": _trade(row)} for row in search.reasons}
    members: list[Row] = [
        {
            **row,
            **{key: reasons.get(row["number"], {}).get(key) for key in ("why", "trade")},
            "provenance": _provenance(search),
            "chosen": row["number"] == search.chosen,
        }
        for row in search.trials
        if row.get("pareto")
    ]
    return tuple(sorted(members, key=lambda row: (-(row.get("auc") or row.get("accuracy") or 0.0), row["number"])))


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
    drawn = (
        ("volume", "Growth", "How the covered hypervolume grew with training.", search.volume, volume_chart),
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
    spec = grade_marks(undash(front_chart(frame_of(rows), device=search.latency_device).to_dict()))
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
    objectives = ", ".join(_NAMES.get(name, name) for name in search.objectives)
    text = (
        f"{len(search.trials)} candidates were tried, {feasible} of them within the limits"
        f"{_limits(search)}; {len(members)} are on the front over {objectives}."
    )
    where = f" on {search.latency_device}" if search.latency_device else ""
    size = f" for a query of {search.latency_batch:,} samples" if search.latency_batch else ""
    latency = f"Latency is {_provenance(search)}{where}{size}; accuracy comes from training."
    return (f"{text} {latency}{_hypervolume(search)}",)


def _limits(search: SearchInputs) -> str:
    formats = {"latency_ms": format_ms, "parameter_bytes": format_bytes, "flops": format_count}
    limits = [
        f"{_NAMES.get(name, name)} ≤ {formats.get(name, format_number)(value)}"
        for name, value in search.constraints.items()
    ]
    return f" ({', '.join(limits)})" if limits else ""


def _hypervolume(search: SearchInputs) -> str:
    return "" if search.hypervolume is None else f" Hypervolume: {format_number(search.hypervolume)}."
