"""From sections to HTML: every text is escaped by the template engine, every spec by `script_json`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from planner.report.answer import Answer
from planner.report.blocks import Column, Section
from planner.report.cells import format_value
from planner.report.inputs import ReportInputs
from planner.report.provenance import MEANING
from profiles.charts.offline import page_chart, script_json, vega_bundle

__all__ = ["PageHead", "render_page", "render_sections"]

_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:ms|µs|s|%|[kMGT]?B|points|queries/s)(?!\w))")
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, kw_only=True, slots=True)
class PageHead:
    """What stands on top of a page: its name, what kind of page it is, facts in a line (empty ones are left out)."""

    name: str
    eyebrow: str
    facts: tuple[str, ...]
    created: str


def render_page(inputs: ReportInputs, answer: Answer, sections: tuple[Section, ...]) -> str:
    """The whole report, scripts and styles inlined: it asks the network for nothing."""
    facts = (inputs.data, inputs.fingerprint.processor)
    head = PageHead(name=inputs.name, eyebrow="recplan report", facts=facts, created=inputs.created)
    return render_sections(head, answer, sections)


def render_sections(head: PageHead, answer: Answer, sections: tuple[Section, ...]) -> str:
    """Any page of sections in the report's style; one of them is `provenance`, which says what the grades mean."""
    specs = {
        chart.name: page_chart(chart.spec, columns=2 if chart.half else None)
        for section in sections
        for chart in section.all_charts
    }
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            head=head,
            answer=answer,
            sections=sections,
            meaning=MEANING,
            specs=script_json(specs),
            vega=vega_bundle(),
        )
    )


def _environment() -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("planner.report"), PackageLoader("profiles.charts")]),
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
