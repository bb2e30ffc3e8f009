"""The chosen model's components: where its time goes."""

from collections.abc import Mapping

from planner.report.blocks import Chart, Column, Rows, Section, Table
from planner.report.provenance import grade
from planner.report.siblings import collapsed_rows, levels_that_fit
from profiles.charts import icicle_chart, icicle_frame
from profiles.records import ComponentProfile
from profiles.units import format_ms

__all__ = ["component_rows", "components_section"]

_MOST_ROWS = 80
_NO_NAMES: Mapping[str, str] = {}
_TITLE = "Where the chosen model's time goes"
_COLUMNS = (
    Column(key="label", title="Component"),
    Column(key="class_name", title="Class"),
    Column(key="in_situ_ms", title="In situ", kind="ms", graded=True, note="median inside the running model"),
    Column(key="share", title="Share", kind="bar", graded=True, note="of the model's in-situ latency"),
    Column(
        key="warm_ms", title="Alone, warm", kind="ms", graded=True, note="median when run by itself, data in the caches"
    ),
    Column(key="spread", title="± IQR", kind="percent", note="interquartile range over the median, in situ"),
    Column(key="flops", title="FLOPs", kind="flops", note="2 per multiply-add"),
    Column(key="bytes_moved", title="Bytes moved", kind="bytes"),
    Column(key="parameter_bytes", title="Parameters", kind="bytes"),
    Column(key="provenance", title="Latency is", kind="provenance"),
)


def components_section(profile: tuple[ComponentProfile, ...] | None, names: Mapping[str, str] = _NO_NAMES) -> Section:
    """The icicle, and the table of components in the order in which they run.

    `names` are labels by path, for modules that are numbered.
    """
    if not profile:
        return Section(
            anchor="components",
            title=_TITLE,
            short="Components",
            missing="The chosen model was not profiled in this run.",
        )
    rows = component_rows(profile, names)
    shown = levels_that_fit(collapsed_rows(rows), _MOST_ROWS)
    table = Table(
        name="components",
        caption="Components, as they nest",
        columns=_COLUMNS,
        rows=rows,
        shown=shown,
        most=len(shown),
        note="Of embeddings that are alike the slowest is shown with its parts, the rest as one row (Σ)"
        if any(row["component"] is None for row in shown)
        else "",
    )
    return Section(
        anchor="components",
        title=_TITLE,
        short="Components",
        prose=(_prose(profile),),
        charts=(_icicle(profile, names),),
        tables=(table,),
    )


def component_rows(profile: tuple[ComponentProfile, ...], names: Mapping[str, str] = _NO_NAMES) -> Rows:
    """One row per component; `share` is of the root's in-situ latency, `names` are labels by path."""
    whole = next((_in_situ(row) for row in profile if row.path == "" or row.depth == 0), None)
    return tuple(_row(row, whole, names.get(row.path)) for row in profile)


def _icicle(profile: tuple[ComponentProfile, ...], names: Mapping[str, str]) -> Chart:
    frame = icicle_frame(profile, names=names)
    return Chart(
        name="icicle",
        title="Latency by component",
        summary="Every component as a rectangle under the one that holds it, as wide as its share of the latency.",
        spec=icicle_chart(frame).to_dict(),
        rows=tuple(frame.to_dicts()),
        note="A click zooms into a component, a double click goes back. Σ and a dark edge: summed from its parts. "
        "Dashed and +%: what its parts come to beyond it. Grey: not known.",
    )


def _row(row: ComponentProfile, whole: float | None, name: str | None) -> dict[str, object]:
    in_situ = _in_situ(row)
    share = in_situ / whole if in_situ is not None and whole else None
    return {
        "component": row.path,
        "label": ("Σ " if row.provenance == "aggregated" else "")
        + (name or row.path.rpartition(".")[2] or "whole model"),
        "class_name": row.class_name,
        "depth": row.depth,
        "in_situ_ms": in_situ,
        "share": share,
        "warm_ms": row.warm.median_ms if row.warm else None,
        "spread": row.in_situ.iqr_ms / row.in_situ.median_ms if row.in_situ and row.in_situ.median_ms else None,
        "flops": row.flops,
        "bytes_moved": row.bytes_moved,
        "parameter_bytes": row.parameter_bytes,
        "provenance": grade(row.provenance) if row.provenance != "skipped" else "skipped",
    }


def _in_situ(row: ComponentProfile) -> float | None:
    return row.in_situ.median_ms if row.in_situ else None


def _prose(profile: tuple[ComponentProfile, ...]) -> str:
    root = profile[0]
    text = (
        f"One forward pass of {root.batch:,} samples on {root.device}. In situ is the latency inside the running "
        "model; alone and warm is the same component run by itself, again and again: the two differ where caches do."
    )
    if root.in_situ is None or root.warm is None:
        return text
    return (
        f"{text} Timing every component adds some microseconds to each: the whole model takes "
        f"{format_ms(root.warm.median_ms)} by itself and {format_ms(root.in_situ.median_ms)} while its "
        f"{len(profile)} parts are timed, so read in situ for shares."
    )
