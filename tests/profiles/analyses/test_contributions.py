import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.analyses.contributions import METRICS, contributions, explain, own_values
from profiles.errors import InputError, UnknownNameError
from profiles.model_profile import SELF_KIND
from profiles.records import ComponentProfile
from tests.profiles.rows import latency, row

PATHS = st.sampled_from(["a", "b", "a.0", "a.1", "a.0.x", "b.1.y", "b.1.z"])


def model(flops: dict[str, float | None]) -> list[ComponentProfile]:
    return [row(path=path, spec=path, flops=value) for path, value in flops.items()]


def own(flops: dict[str, float | None]) -> dict[str, float]:
    return {path: value for (path, _), value in own_values(model(flops), "flops").items()}


def test_a_parent_counts_only_what_it_does_outside_its_children() -> None:
    assert own({"": 10, "a": 6, "a.x": 4, "b": 1}) == {"": 3, "a": 2, "a.x": 4, "b": 1}


def test_a_row_without_a_value_has_that_of_its_children() -> None:
    assert own({"": 10, "list": None, "list.0": 3, "list.1": 4}) == {"": 3, "list": 0, "list.0": 3, "list.1": 4}


def test_where_a_level_was_left_out_the_nearest_parent_is_taken() -> None:
    assert own({"": 10, "a.b.c": 3}) == {"": 7, "a.b.c": 3}


def test_tied_parameters_show_as_a_negative_part_of_their_parent() -> None:
    rows = [row(path=path, parameter_bytes=size) for path, size in {"": 100, "embed": 100, "head": 100}.items()]
    assert own_values(rows, "parameter_bytes")["", "forward"] == -100
    assert sum(own_values(rows, "parameter_bytes").values()) == 100


def test_self_rows_do_not_count_and_phases_do_not_mix() -> None:
    rows = [
        row(path="", in_situ=latency(3.0)),
        row(path="(self)", kind=SELF_KIND, in_situ=latency(1.0)),
        row(path="", phase="backward", in_situ=latency(6.0)),
    ]
    assert own_values(rows, "latency_ms") == {("", "forward"): 3.0, ("", "backward"): 6.0}


def test_memory_at_the_peak_is_a_figure_of_the_rows() -> None:
    rows = [row(path="", figures={"memory_at_peak_bytes": 7.0}), row(path="a", figures={"memory_at_peak_bytes": 5.0})]
    assert own_values(rows, "memory_bytes") == {("", "forward"): 2.0, ("a", "forward"): 5.0}


@given(st.dictionaries(PATHS, st.none() | st.integers(0, 10**9)))
def test_own_values_add_up_to_the_model(flops: dict[str, float | None]) -> None:
    assert sum(own({"": 1234, **flops}).values()) == 1234


def test_the_changes_sum_to_the_difference_and_the_greatest_comes_first() -> None:
    before = model({"": 10, "a": 6, "b": 4})
    after = model({"": 31, "a": 7, "b": 4, "c": 20})
    parts = contributions(before, after, "flops")
    assert [(part.path, part.change) for part in parts[:2]] == [("c", 20), ("a", 1)]
    assert sum(part.change for part in parts) == 21
    assert (parts[0].before_path, parts[0].after_path) == (None, "c")


def test_a_module_that_went_is_a_saving() -> None:
    (part, *_) = contributions(model({"": 6, "a": 6}), model({"": 0}), "flops")
    assert (part.path, part.change, part.before_path, part.after_path) == ("a", -6, "a", None)


def test_the_fewest_contributions_that_explain_a_share() -> None:
    before = model({"": 0, "a": 0, "b": 0, "c": 0})
    after = model({"": 100, "a": 90, "b": 8, "c": 2})
    parts = contributions(before, after, "flops")
    assert [part.path for part in explain(parts, 0.9)] == ["a"]
    assert [part.path for part in explain(parts)] == ["a", "b"]
    assert [part.path for part in explain(parts, 1.0)] == ["a", "b", "c"]
    assert explain(contributions(before, before, "flops")) == ()
    with pytest.raises(InputError, match="share must be in"):
        explain(parts, 0.0)


def test_an_unknown_metric_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="flops, latency_ms, memory_bytes, parameter_bytes"):
        own_values([], "speed")
    assert all(metric.title for metric in METRICS.values())
