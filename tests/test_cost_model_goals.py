import pytest

from tests.benchmarks.cost_model_goals import Goal, shown_figure


@pytest.mark.parametrize(("figure", "shown"), [(0.0396, "4.0%"), (0.0404, "4.04%"), (0.0413, "4.1%"), (None, "-")])
def test_a_goal_missed_by_little_does_not_read_as_met(figure: float | None, shown: str) -> None:
    assert shown_figure(Goal(what="MAPE", figure=figure, goal=0.04)) == shown


def test_a_tau_missed_by_little_has_a_further_digit() -> None:
    assert shown_figure(Goal(what="tau", figure=0.96996, goal=0.97, at_least=True)) == "0.96996"


@pytest.mark.parametrize(
    ("figure", "unless", "verdict"),
    [(0.1, "", "met"), (0.2, "", "missed"), (0.2, "all are flagged", "met, as all are flagged"), (0.1, "so", "met")],
)
def test_a_goal_that_leaves_a_choice_says_which_was_taken(figure: float, unless: str, verdict: str) -> None:
    goal = Goal(what="MAPE", figure=figure, goal=0.15, unless=unless)
    assert goal.verdict == verdict
    assert goal.is_met == verdict.startswith("met")
