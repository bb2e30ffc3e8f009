"""The report: one HTML page that opens offline, with the frames and charts behind it."""

from typing import TYPE_CHECKING

from planner.report.answer import Answer, compose_answer
from planner.report.inputs import MappingInputs, ReportInputs, SearchInputs, ServingInputs, ValidationInputs
from planner.report.stored import SCHEMA, load_inputs, save_inputs
from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from planner.report.save import build_report, rebuild_report

__all__ = [
    "SCHEMA",
    "Answer",
    "MappingInputs",
    "ReportInputs",
    "SearchInputs",
    "ServingInputs",
    "ValidationInputs",
    "build_report",
    "compose_answer",
    "load_inputs",
    "rebuild_report",
    "save_inputs",
]

# These load Altair and Polars.
__getattr__ = lazy_attributes(__name__, dict.fromkeys(("build_report", "rebuild_report"), "planner.report.save"))
