"""A mapping as tables of text: what a command or a page shows of it."""

from collections.abc import Iterator
from dataclasses import dataclass

from planner.mapping.algorithm import MappingResult
from planner.mapping.comparison import MappingComparison
from planner.mapping.exact import FluidMapping
from planner.mapping.feature_suggestion import FeatureSuggestion
from profiles.units import format_bytes

__all__ = ["MappingTable", "mapping_tables"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MappingTable:
    """Rows of text under a title; the first `text_columns` columns read from the left. `notes` go below."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 1
    notes: tuple[str, ...] = ()


def mapping_tables(result: MappingResult) -> tuple[MappingTable, ...]:
    """The decisions, then what was asked for beside them: both mappings, more memory, features."""
    decisions = MappingTable(
        title="Mapping",
        columns=("device", "step", "candidate", "why"),
        rows=tuple((one.device, one.role, one.candidate or "none", one.reason) for one in result.decisions),
        text_columns=4,
    )
    tables = [decisions]
    if result.comparison is not None:
        tables += _comparison(result.comparison)
    if result.features is not None:
        tables.append(_features(result.features))
    return tuple(tables)


def _comparison(found: MappingComparison) -> Iterator[MappingTable]:
    proven = "no mapping is better than the exact one" if found.is_proven else "its time ended before a proof"
    yield MappingTable(
        title=f"What the paths could serve at {found.qps:g} queries/s, queues left out",
        columns=("mapping", "paths", "correct/s in the SLA", "queries served", "accuracy"),
        rows=(_fluid_row("Algorithm 1", found.algorithm), _fluid_row("exact", found.exact)),
        text_columns=2,
        notes=(f"gap {100 * found.gap:.2f} %; {proven}",),
    )
    if found.memory:
        yield MappingTable(
            title="What would fit with more memory",
            columns=("device", "then holds", "more memory", "in all", "gain"),
            rows=tuple(
                (
                    step.device,
                    ", ".join(step.candidates),
                    format_bytes(step.extra_bytes),
                    format_bytes(step.memory_bytes),
                    f"{step.gain:+.2%}",
                )
                for step in found.memory
            ),
            text_columns=2,
        )


def _fluid_row(name: str, mapping: FluidMapping) -> tuple[str, ...]:
    paths = ", ".join(f"{one.candidate}@{one.device}" for one in mapping.shares)
    correct, served = f"{mapping.correct_per_s:,.0f}", f"{mapping.served_share:.1%}"
    return (name, paths, correct, served, f"{mapping.accuracy:.4f}")


def _features(found: FeatureSuggestion) -> MappingTable:
    taken = found.choice.taken if found.choice else ()
    rows = tuple(
        (
            one.name,
            "table" if one in taken else "DHE",
            f"{one.accuracy_gain:+.4f}" + (f" ± {one.std_error:.4f}" if one.std_error is not None else ""),
            f"{one.extra_bytes:+,}",
            f"{one.extra_us:+,.1f}",
            f"{1e6 * one.accuracy_gain / one.extra_bytes:+.4f}" if one.extra_bytes > 0 else "",
            f"{one.accuracy_gain / one.extra_us:+.6f}" if one.extra_us > 0 else "",
        )
        for one in found.gains.gains
    )
    return MappingTable(
        title=f"Table or DHE, feature by feature, on {found.device}",
        columns=("feature", "choice", "a table gains", "bytes", "us", "gain per MB", "gain per us"),
        rows=rows,
        text_columns=2,
        notes=tuple(_feature_notes(found)),
    )


def _feature_notes(found: FeatureSuggestion) -> Iterator[str]:
    if found.reason:
        yield f"no choice: {found.reason}"
    if found.choice:
        gain, gap = found.choice.gain, f"{100 * found.choice.gap:.2f} %"
        yield f"predicted from {found.gains.trials} trials, never trained: {gain:+.4f} over DHEs alone, gap {gap}"
    if found.gains.undecided:
        yield f"the same in every trial, so not judged: {', '.join(found.gains.undecided)}"
