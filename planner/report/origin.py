"""Where the figures come from: the grades, the machine, the seeds, the study as it was asked, and how to rebuild."""

import json
from collections.abc import Mapping

from planner.report.blocks import Chart, Column, Row, Section, Table
from planner.report.inputs import ReportInputs
from planner.report.provenance import GRADES, MEANING
from planner.report.specs import provenance_key_spec
from profiles.records import Fingerprint

__all__ = ["origin_section", "study_rows"]

_GRADES = (
    "Figures come in three grades, which never look alike: a badge in tables and tiles; full, pale or hollow marks "
    "(bars: full, pale or faint) and solid, dashed or dotted lines and edges in charts. A figure that rests on others "
    "has the grade of the weakest."
)
_REBUILDING = (
    "`recplan report DIR` makes this page again from the report.json beside it; frames/ holds the rows behind every "
    "table and chart, charts/ the charts' Vega-Lite."
)


def origin_section(inputs: ReportInputs) -> Section:
    """The legend, the fingerprint, the seeds, the study echoed."""
    return Section(
        anchor="provenance",
        title="Where the figures come from",
        short="Provenance",
        prose=(
            _GRADES,
            *inputs.notes,
            _REBUILDING,
        ),
        charts=(_key(),),
        tables=(_grades(), _machine(inputs.fingerprint, inputs.seeds), _study(inputs)),
    )


def study_rows(study: object, path: str = "") -> tuple[Row, ...]:
    """The study flattened: one row per key, `devices.0.name` and the like; values as JSON."""
    if isinstance(study, dict) and study:
        parts = study.items()
    elif isinstance(study, list | tuple) and any(isinstance(part, dict) for part in study):
        parts = {str(i): part for i, part in enumerate(study)}.items()
    else:
        text = study if isinstance(study, str) else json.dumps(study, ensure_ascii=False, default=str)
        return ({"key": path, "value": text},)
    return tuple(row for key, part in parts for row in study_rows(part, f"{path}.{key}".lstrip(".")))


def _key() -> Chart:
    rows = tuple({"provenance": name, "meaning": MEANING[name]} for name in GRADES)
    return Chart(
        name="provenance_key",
        title="How marks are drawn",
        summary="A full mark is measured, a pale one with dashes predicted, a hollow one with dots estimated.",
        spec=provenance_key_spec(),
        rows=rows,
        half=True,
    )


def _grades() -> Table:
    columns = (Column(key="provenance", title="Grade", kind="provenance"), Column(key="meaning", title="What it means"))
    rows = tuple({"provenance": name, "meaning": MEANING[name]} for name in GRADES)
    return Table(name="grades", caption="The three grades", columns=columns, rows=rows)


def _machine(fingerprint: Fingerprint, seeds: Mapping[str, int]) -> Table:
    facts = {
        "device": fingerprint.device,
        "processor": fingerprint.processor,
        "driver": fingerprint.driver,
        "threads": str(fingerprint.threads),
        "Python": fingerprint.python,
        **dict(fingerprint.libraries),
        "source revision": fingerprint.git_revision,
        "measured at": fingerprint.timestamp,
        **{f"seed of {name}": str(seed) for name, seed in seeds.items()},
    }
    columns = (Column(key="key", title="What"), Column(key="value", title="Value"))
    rows = tuple({"key": key, "value": value} for key, value in facts.items() if value)
    return Table(
        name="machine", caption="The machine that measured, and the seeds", columns=columns, rows=rows, half=True
    )


def _study(inputs: ReportInputs) -> Table:
    columns = (Column(key="key", title="Key"), Column(key="value", title="Value"))
    return Table(
        name="study",
        caption="The study, as it was asked",
        columns=columns,
        rows=study_rows(dict(inputs.study)),
        most=200,
        half=True,
    )
