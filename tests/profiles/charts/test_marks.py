from profiles.charts.marks import row_mark, row_reason
from tests.profiles.rows import row

SMALL = "not run alone: takes {}% of the model's time, less than 10.00%"


def test_what_a_filter_left_out_is_marked_unlike_what_failed() -> None:
    assert row_mark(row(provenance="skipped", reason=SMALL.format("1.20"))) == "○"
    assert row_mark(row(provenance="skipped", reason="never called")) == "×"
    assert (row_mark(row()), row_mark(row(provenance="aggregated"))) == ("", "Σ")


def test_modules_that_are_too_small_have_one_reason_together() -> None:
    reasons = {row_reason(row(provenance="skipped", reason=SMALL.format(share))) for share in ("1.20", "0.40")}
    assert reasons == {"not run alone: takes less than 10.00% of the model's time"}
