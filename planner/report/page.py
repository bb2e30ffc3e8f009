"""From sections to HTML: every text is escaped by the template engine, every spec by `script_json`."""

import json
import re
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from planner.report.answer import Answer
from planner.report.blocks import Column, Section
from planner.report.cells import format_value
from planner.report.inputs import ReportInputs
from planner.report.provenance import MEANING
from planner.report.theme import chart_config

__all__ = ["render_page", "script_json", "themed"]

_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:ms|µs|s|%|[kMGT]?B|points|queries/s)(?!\w))")
_CODE = re.compile(r"`([^`]+)`")
# Views of several views: their width is that of their parts.
_MULTIPLE = frozenset({"concat", "facet", "hconcat", "vconcat", "repeat"})


def render_page(inputs: ReportInputs, answer: Answer, sections: tuple[Section, ...]) -> str:
    """The whole page, scripts and styles inlined: it asks the network for nothing."""
    specs = {
        chart.name: themed(chart.spec, columns=2 if chart.half else None)
        for section in sections
        for chart in section.charts
    }
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            inputs=inputs,
            answer=answer,
            sections=sections,
            meaning=MEANING,
            specs=script_json(specs),
            vega=_vega_bundle(),
        )
    )


def script_json(value: object) -> Markup:
    """JSON that may stand inside a script element: nothing in it can end the element or open a comment."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 (every sign that HTML knows is escaped above)


def themed(spec: Mapping[str, Any], *, columns: int | None = None) -> dict[str, Any]:
    """The spec with the page's look; a single view fills the width of its column. `columns` are those of legends."""
    body = {key: part for key, part in spec.items() if key != "title"}
    body |= {"config": chart_config(columns), "background": None}
    if not _MULTIPLE.isdisjoint(spec):
        return body
    return {**body, "width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("planner.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["cell"] = _cell
    environment.filters["prose"] = _prose
    return environment


def _cell(row: Mapping[str, Any], column: Column) -> str:
    return format_value(row.get(column.key), column.kind)


def _prose(text: str) -> Markup:
    """The text escaped, what stands between backticks as code, and no line break between a number and its unit."""
    escaped = _BEFORE_UNIT.sub("\u00a0", str(escape(text)))
    return Markup(_CODE.sub(r"<code>\1</code>", escaped))  # noqa: S704 (escaped just here)


def _vega_bundle() -> Markup:
    import vl_convert

    bundle = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # the stub makes the optional snippet required
    return Markup(bundle.replace("</script", "<\\/script"))  # noqa: S704 (a library's source, not a user's text)
