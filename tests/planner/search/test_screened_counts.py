from planner.search.screened_counts import ScreenedCounts
from planner.search.screening import screen
from planner.study import SearchSection
from tests.planner.search.closed_form import SMALL_SPACE, make_task, predict


def test_what_limits_rule_out_is_counted_by_limit() -> None:
    section = SearchSection(space=SMALL_SPACE, constraints={"parameter_bytes": "100 kB", "flops": 5_000})
    screening = screen(make_task(section), predict)
    counts = screening.counts
    assert counts.priced == len(screening.screened)
    assert counts.feasible == len(screening.feasible)
    assert 0 < max(counts.broken.values()) <= counts.priced - counts.feasible <= sum(counts.broken.values())
    assert f"{counts.broken['flops']} by flops" in counts.text


def test_a_space_without_limits_rules_nothing_out() -> None:
    text = ScreenedCounts(priced=1_000, feasible=1_000, complete=False).text
    assert text == "1,000 candidates looked at in a larger space, none of them ruled out"
