"""All sections, in the order of the page."""

from planner.report.answer import Answer, compose_answer
from planner.report.blocks import Section
from planner.report.components import components_section
from planner.report.facts import serving_facts
from planner.report.features import embedding_names
from planner.report.inputs import ReportInputs
from planner.report.mapping import mapping_section
from planner.report.origin import origin_section
from planner.report.pareto import search_section
from planner.report.serving import serving_section
from planner.report.validation import validation_section

__all__ = ["answer_of", "sections_of"]


def answer_of(inputs: ReportInputs) -> Answer:
    """The answer that the inputs give."""
    if inputs.plan is None or inputs.serving is None:
        return compose_answer(None)
    summary = inputs.validation.summary if inputs.validation is not None else None
    return compose_answer(serving_facts(inputs.plan, inputs.serving), inputs.constant_accuracy, summary)


def sections_of(inputs: ReportInputs) -> tuple[Section, ...]:
    """Every section; one without inputs says so."""
    return (
        components_section(inputs.profile, embedding_names(inputs.plan, inputs.search)),
        validation_section(inputs.validation),
        search_section(inputs.search),
        mapping_section(inputs.plan, inputs.mapping),
        serving_section(inputs.plan, inputs.serving),
        origin_section(inputs),
    )
