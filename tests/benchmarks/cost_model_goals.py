"""The goals of the cost model beside what was measured, with verdicts that follow from the numbers alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.markdown import percent, significant

__all__ = ["Goal", "goal_rows", "goals_of", "shown_figure"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Goal:
    """A figure that should be at most (or at least) so much; None was not measured.

    `unless` says what else will do, where that is so.
    """

    what: str
    figure: float | None
    goal: float
    at_least: bool = False
    is_share: bool = True
    unless: str = ""

    @property
    def is_met(self) -> bool | None:
        """Whether the figure meets the goal; None where there is no figure."""
        if self.figure is None:
            return None
        return bool(self.unless) or self._holds

    @property
    def verdict(self) -> str:
        """`met`, what else will do, `missed` or `not reached or not measured`."""
        if self.figure is None:
            return "not reached or not measured"
        if self._holds:
            return "met"
        return f"met, as {self.unless}" if self.unless else "missed"

    @property
    def _holds(self) -> bool:
        if self.figure is None:
            return False
        return self.figure >= self.goal if self.at_least else self.figure <= self.goal


def goals_of(report: Mapping[str, Any]) -> list[Goal]:
    """The goals, and the figures of a report; components count by their rows."""
    kinds, composed, beyond = report["components"], report["composed"], report["extrapolation"]
    rows = sum(kind["rows"] for kind in kinds)

    def mean(name: str) -> float | None:
        return sum(kind[name] * kind["rows"] for kind in kinds) / rows if rows else None

    flagged = "all are flagged as extrapolated" if beyond["flagged_share"] == 1 else ""
    points = report["points_for_10_percent"]
    needed = [(kind, points[kind]) for kind in sorted(points)]
    small = [row["mape"] for row in report["by_batch"] if row["kind"] == "model" and row["batch"] <= 16]
    return [
        Goal(what="components: MAPE", figure=mean("mape"), goal=0.04),
        Goal(what="components: p90, mean over kinds", figure=mean("p90"), goal=0.09),
        Goal(what="components: share within 10 %", figure=mean("within_10"), goal=0.95, at_least=True),
        Goal(what="whole models: MAPE", figure=composed["mape"], goal=0.04),
        Goal(what="whole models: p90", figure=composed["p90"], goal=0.09),
        Goal(what="whole models: Kendall's tau", figure=composed["kendall_tau"], goal=0.97, at_least=True),
        Goal(what="whole models: worst MAPE at a batch <= 16", figure=max(small, default=None), goal=0.02),
        Goal(what="4x beyond: MAPE", figure=beyond["mape"], goal=0.1, unless=flagged),
        Goal(what="4x beyond: coverage of the 90 % interval", figure=beyond["coverage"], goal=0.85, at_least=True),
        Goal(what="ids of unseen Zipf exponents: MAPE", figure=report["skewed_ids_mape"], goal=0.08),
        Goal(what="ids of the Scarab log: MAPE", figure=report.get("logged_ids", {}).get("mape"), goal=0.08),
        *(Goal(what=f"points for 10 % error: {kind}", figure=count, goal=60, is_share=False) for kind, count in needed),
        Goal(
            what="whole models predicted per second",
            figure=report["whole_model_predictions_per_s"],
            goal=1e6,
            at_least=True,
            is_share=False,
        ),
        Goal(what="seconds to fit", figure=report.get("fit_s"), goal=10, is_share=False),
    ]


def goal_rows(report: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """What, goal, figure and verdict."""
    return [
        (
            goal.what,
            f"{'>=' if goal.at_least else '<='} {_text(goal, goal.goal)}",
            shown_figure(goal),
            goal.verdict,
        )
        for goal in goals_of(report)
    ]


def shown_figure(goal: Goal) -> str:
    """The figure as the goal reads, with further digits where a missed one would read like the goal itself."""
    text = _text(goal, goal.figure)
    if goal.figure is None or goal.is_met or text != _text(goal, goal.goal):
        return text
    return _text(goal, goal.figure, further=True)


def _text(goal: Goal, value: float | None, *, further: bool = False) -> str:
    if value is None:
        return "-"
    if goal.is_share and "tau" not in goal.what:
        return f"{value:.2%}" if further else percent(value)
    return significant(value, 5 if further else 3)
