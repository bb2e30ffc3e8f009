"""A difference of two profiles as files: the page that opens offline, its charts, and all of it as JSON."""

import json
from pathlib import Path

from profiles.analyses.diff import MetricDiff, ProfileDiff
from profiles.charts.difference import difference_chart
from profiles.charts.offline import page_chart, script_json, vega_bundle
from profiles.files import make_folder, replace_file
from profiles.results.difference_lines import METRIC_TITLES, format_amount, format_change, module_text, total_text
from profiles.results.page import page_environment
from profiles.results.page_blocks import Cell, Chart, Column, Group, Line, Table, Tile

__all__ = ["DIFF_SCHEMA", "render_difference", "write_difference"]

DIFF_SCHEMA = "recplan.profile-diff/1"


def write_difference(diff: ProfileDiff, folder: Path) -> tuple[Path, ...]:
    """Write `diff.html`, `diff.json` and `charts/diff-METRIC.json` (Vega-Lite), and return them.

    Raises:
        StorageError: the disk is full or the folder is not writable; files that were there stay.
    """
    body = {"schema": DIFF_SCHEMA, **diff.to_object()}
    page = replace_file(make_folder(folder) / "diff.html", render_difference(diff))
    written = (page, replace_file(folder / "diff.json", json.dumps(body, allow_nan=False) + "\n"))
    charts = make_folder(folder / "charts")
    specs = {chart.name: json.dumps(chart.spec, allow_nan=False) for chart in map(_chart, diff.metrics)}
    return (*written, *(replace_file(charts / f"{name}.json", spec + "\n") for name, spec in specs.items()))


def render_difference(diff: ProfileDiff) -> str:
    """The page: scripts and styles inlined, names from users escaped; it asks the network for nothing."""
    charts = [_chart(metric) for metric in diff.metrics if metric.differences]
    return (
        page_environment()
        .get_template("difference.html.j2")
        .render(
            before=diff.before_name,
            after=diff.after_name,
            tiles=[_tile(metric) for metric in diff.metrics],
            changed=_changed_table(diff),
            charts=charts,
            tables=[_table(metric) for metric in diff.metrics if metric.differences],
            notes=diff.notes,
            specs=script_json({chart.name: page_chart(chart.spec) for chart in charts}),
            vega=vega_bundle(),
        )
    )


def _title(metric: MetricDiff) -> str:
    title = METRIC_TITLES.get(metric.name, metric.title)
    return title[0].upper() + title[1:]


def _tile(metric: MetricDiff) -> Tile:
    share = metric.change_share
    figure = f"{share:+.1%}" if share is not None else format_change(metric.name, metric.change)
    return Tile(label=_title(metric), figure=figure if metric.change else "no change", note=total_text(metric))


def _chart(metric: MetricDiff) -> Chart:
    return Chart(
        name=f"diff-{metric.name}",
        title=_title(metric),
        summary="A bar per module: to the right where it is more after, to the left where it is less.",
        spec=difference_chart(metric).to_dict(),
        note=f"{total_text(metric)}. What a module does itself, outside those in it: the bars sum to the difference.",
    )


def _changed_table(diff: ProfileDiff) -> Table:
    names = [metric.name for metric in diff.metrics]
    lines = tuple(
        Line(
            cells=(
                Cell(text=module_text(one.before_path, one.after_path)),
                *(Cell(text=format_change(name, value := one.savings[name]), value=value) for name in names),
            ),
            searched=one.path.lower(),
        )
        for one in diff.changed
    )
    columns = (Column(title="Module", is_number=False), *(Column(title=_title(metric)) for metric in diff.metrics))
    note = "With all that is in them; what the total would lose if each were made as before."
    groups = (Group(heading="", lines=lines),)
    return Table(name="changed", title="Changed modules", columns=columns, groups=groups, note=note)


def _table(metric: MetricDiff) -> Table:
    lines = tuple(
        Line(
            cells=(
                Cell(text=module_text(one.part.before_path, one.part.after_path)),
                Cell(text=one.class_name),
                Cell(text=format_amount(metric.name, one.part.before), value=one.part.before),
                Cell(text=format_amount(metric.name, one.part.after), value=one.part.after),
                Cell(text=format_change(metric.name, one.part.change), value=one.part.change),
                Cell(text="within the noise" if one.is_noise else ""),
            ),
            searched=f"{one.part.path} {one.class_name}".lower(),
            kind="skipped" if one.is_noise else "",
        )
        for one in metric.differences
    )
    columns = (
        Column(title="Module", is_number=False),
        Column(title="Class", is_number=False),
        Column(title="Before", note="what it does itself"),
        Column(title="After", note="what it does itself"),
        Column(title="Difference"),
        Column(title="", is_number=False),
    )
    groups = (Group(heading="", lines=lines),)
    return Table(name=f"table-{metric.name}", title=f"{_title(metric)}, by module", columns=columns, groups=groups)
