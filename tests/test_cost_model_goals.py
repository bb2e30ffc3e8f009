import pytest

from tests.benchmarks.cost_model_goals import Goal, shown_figure


@pytest.mark.parametrize(("figure", "shown"), [(0.0396, "4.0%"), (0.0404, "4.04%"), (0.0413, "4.1%"), (None, "-")])
def test_a_goal_missed_by_little_does_not_read_as_met(figure: float | None, shown: str) -> None:
    assert shown_figure(Goal(what="MAPE", figure=figure, goal=0.04)) == shown


def test_a_tau_missed_by_little_has_a_further_digit() -> None:
    assert shown_figure(Goal(what="tau", figure=0.96996, goal=0.97, at_least=True)) == "0.96996"
