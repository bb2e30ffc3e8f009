"""The tables of a profile's page, as texts with the values that they sort by."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from urllib.parse import quote

from profiles.charts.marks import row_mark, row_reason
from profiles.charts.table import component_figures
from profiles.kernel_time import KernelTime
from profiles.model_profile import SELF_KIND, CallProfile, ModelProfile
from profiles.profilers.protocol import Figure
from profiles.records import ComponentProfile
from profiles.results.page_blocks import Cell, Column, Group, Line, Link, Table
from profiles.results.page_columns import COMPONENT_COLUMNS, SHOWN_FIGURES, missing_note
from profiles.results.page_inputs import short_inputs

__all__ = ["page_tables"]

_MOST_KERNELS = 300
# A single batch that nobody named.
_ONLY_BATCH = frozenset({"", "0"})
_SAMPLES = Column(title="Samples", note="how many the call gets")
_WEIGHT = Column(title="Weight, %", note="the batch's share in the figures of the components")
_FILES_NOTE = (
    "A trace opens in Perfetto (ui.perfetto.dev, “Open trace file”), a memory snapshot in "
    "docs.pytorch.org/memory_viz; both read the file in the browser."
)


def page_tables(profile: ModelProfile) -> tuple[Table, ...]:
    """Components, and where there are some: further figures, kernels, calls."""
    tables = (_components(profile), _figures(profile), _kernels(profile.kernels), _calls(profile.calls))
    return tuple(table for table in tables if table.count)


def _components(profile: ModelProfile) -> Table:
    """Rows of one depth together; columns that no row fills hold a dash or are left out, and are named below."""
    rows = sorted(profile.rows, key=lambda row: row.depth)
    values = [_values(row) for row in rows]
    known = [any(line[index] is not None for line in values) for index in range(len(COMPONENT_COLUMNS))]
    shown = [index for index, column in enumerate(COMPONENT_COLUMNS) if known[index] or column.is_kept]
    empty = [column for column, is_known in zip(COMPONENT_COLUMNS, known, strict=True) if not is_known]
    remarks = {text: number for number, text in enumerate(dict.fromkeys(filter(None, map(_remark, rows))), start=1)}
    with_kernels = {kernel.path for kernel in profile.kernels}
    lines = [
        Line(
            cells=(
                Cell(text=_path(row, profile)),
                Cell(text=row.class_name if row.kind != SELF_KIND else ""),
                Cell(text=f"{row.provenance} [{remarks[text]}]" if (text := _remark(row)) else row.provenance),
                *(
                    _number(line[index], COMPONENT_COLUMNS[index].absent_text(row)) if known[index] else Cell(text="–")
                    for index in shown
                ),
                Cell(text="" if (links := _links(row, with_kernels)) else "–", links=links),
            ),
            searched=f"{row.path} {row.class_name} {row.provenance}".lower(),
            kind=row.kind if row.kind == SELF_KIND else row.provenance,
            hover=row.reason,
        )
        for row, line in zip(rows, values, strict=True)
    ]
    columns = (
        Column(title="Component", is_number=False),
        Column(title="Class", is_number=False),
        Column(title="Figures are", is_number=False),
        *(COMPONENT_COLUMNS[index].column for index in shown),
        Column(title="Files", note="traces and kernels of the module", is_number=False),
    )
    groups = tuple(
        Group(heading=_depth_heading(depth, len(found := [line for _, line in part])), lines=tuple(found))
        for depth, part in groupby(zip([row.depth for row in rows], lines, strict=True), key=itemgetter(0))
    )
    note = [_FILES_NOTE] if any(row.artefacts for row in rows) else []
    return Table(
        name="components",
        title="Components",
        columns=columns,
        groups=groups,
        note=" ".join([*note, missing_note(profile, empty)]).strip(),
        remarks=tuple(f"[{number}] {text}" for text, number in remarks.items()),
    )


def _values(row: ComponentProfile) -> list[float | None]:
    known = component_figures(row)
    return [column.value(row, known) for column in COMPONENT_COLUMNS]


def _depth_heading(depth: int, count: int) -> str:
    what = "The model" if depth == 0 else f"Depth {depth}"
    return f"{what}: {count} {'row' if count == 1 else 'rows'}"


def _remark(row: ComponentProfile) -> str:
    """The reason, where it is not the same of every row of the kind."""
    return row_reason(row) if row.kind != SELF_KIND else ""


def _path(row: ComponentProfile, profile: ModelProfile) -> str:
    name = row.path or profile.name or row.class_name
    phase = "" if row.phase == "forward" else f" ({row.phase})"
    return f"{row_mark(row)} {name}{phase}".strip()


def _links(row: ComponentProfile, with_kernels: Iterable[str | None]) -> tuple[Link, ...]:
    """Files beside the page; `./` keeps a name from being read as an address."""
    files = tuple(Link(title=title, href=f"./{quote(path)}") for title, path in row.artefacts.items())
    kernels = (Link(title="kernels", href="#kernels"),) if row.path in with_kernels and row.kind != SELF_KIND else ()
    return (*files, *kernels)


def _figures(profile: ModelProfile) -> Table:
    """What further profilers found, a column per figure that any row has."""
    shown = [
        figure
        for figure in profile.figures
        if figure.name not in SHOWN_FIGURES and any(row.figures.get(figure.name) is not None for row in profile.rows)
    ]
    lines = tuple(
        Line(
            cells=(
                Cell(text=_path(row, profile)),
                *(_figure_cell(figure, row.figures.get(figure.name)) for figure in shown),
            ),
            searched=f"{row.path} {row.class_name}".lower(),
        )
        for row in profile.rows
        if any(row.figures.get(figure.name) is not None for figure in shown)
    )
    columns = (Column(title="Component", is_number=False), *(Column(title=figure.title) for figure in shown))
    return Table(name="figures", title="Further figures", columns=columns, groups=(Group(heading="", lines=lines),))


def _figure_cell(figure: Figure, value: float | None) -> Cell:
    if value is not None and figure.name.endswith("_share"):
        return Cell(text=f"{value:.1%}", value=value)
    return _number(value)


def _kernels(kernels: Sequence[KernelTime]) -> Table:
    ranked = sorted(kernels, key=lambda kernel: -kernel.milliseconds)
    whole = sum(kernel.milliseconds for kernel in kernels)
    told = any(kernel.uses_tensor_cores is not None for kernel in kernels)
    lines = tuple(
        Line(
            cells=(
                Cell(text=kernel.kernel),
                Cell(text="outside all modules" if kernel.path is None else kernel.path or "the model itself"),
                _number(kernel.milliseconds),
                Cell(text=f"{kernel.milliseconds / whole:.1%}" if whole else "", value=kernel.milliseconds),
                _number(kernel.calls),
                *((Cell(text={True: "yes", False: "no", None: ""}[kernel.uses_tensor_cores]),) if told else ()),
            ),
            searched=f"{kernel.kernel} {kernel.path}".lower(),
        )
        for kernel in ranked[:_MOST_KERNELS]
    )
    columns = (
        Column(title="Kernel", is_number=False, is_wide=True),
        Column(title="Under", note="the innermost module that ran it", is_number=False),
        Column(title="ms", note="per pass"),
        Column(title="Share", note="of all kernels' time"),
        Column(title="Calls", note="per pass"),
        *((Column(title="Tensor cores", is_number=False),) if told else ()),
    )
    left = len(kernels) - len(lines)
    note = f"The {_MOST_KERNELS} with the most time; {left} more are in profile.json." if left else ""
    return Table(name="kernels", title="Kernels", columns=columns, groups=(Group(heading="", lines=lines),), note=note)


def _calls(calls: Sequence[CallProfile]) -> Table:
    has_batches = any(call.batch not in _ONLY_BATCH for call in calls)
    has_phases = any(call.phase != "forward" for call in calls)
    lines = tuple(
        Line(
            cells=(
                Cell(text=call.path or "the model itself"),
                *((Cell(text=call.phase),) if has_phases else ()),
                *(
                    (Cell(text=call.batch), _number(float(call.samples)), _number(100 * call.weight))
                    if has_batches
                    else ()
                ),
                Cell(text=short_inputs(call.signature)),
                _number(float(call.count)),
                _number(call.warm.median_ms if call.warm else None),
                _number(call.cold.median_ms if call.cold else None),
            ),
            searched=f"{call.path} {call.phase} {call.batch} {call.signature}".lower(),
        )
        for call in calls
    )
    columns = (
        Column(title="Component", is_number=False),
        *((Column(title="Phase", is_number=False),) if has_phases else ()),
        *((Column(title="Batch", is_number=False), _SAMPLES, _WEIGHT) if has_batches else ()),
        Column(title="Inputs", is_number=False, is_wide=True),
        Column(title="Calls", note="of this kind in a pass of the batch"),
        Column(title="Alone, ms", note="one call, data in the caches"),
        Column(title="Cold, ms", note="one call, caches swept before"),
    )
    return Table(name="calls", title="Calls", columns=columns, groups=(Group(heading="", lines=lines),))


def _number(value: float | None, absent: str = "") -> Cell:
    """Three significant digits, without exponents where they can be spared."""
    if value is None:
        return Cell(text=absent)
    return Cell(text=f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}", value=value)
