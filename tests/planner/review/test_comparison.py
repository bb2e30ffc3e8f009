import pytest

from planner.review.comparison import ReviewDiff, compare_reviews
from tests.planner.review.small_models import CPU, DHE, SPEC, review_of


@pytest.fixture(scope="module")
def diff() -> ReviewDiff:
    return compare_reviews(review_of(SPEC), review_of(DHE))


def test_differences_of_components_sum_to_that_of_the_models(diff: ReviewDiff) -> None:
    for device in diff.devices:
        assert sum(row.change_ms for row in device.components) == pytest.approx(device.change_ms)
        changes = [abs(row.change_ms) for row in device.components]
        assert changes == sorted(changes, reverse=True)


def test_a_replaced_table_is_gone_and_its_dhe_is_new(diff: ReviewDiff) -> None:
    rows = diff.devices[0].components
    gone = [row for row in rows if row.after is None]
    new = [row for row in rows if row.before is None]
    assert [row.path for row in gone] == ["embeddings.0"]
    assert {row.kind for row in new} == {"dhe_encoder", "linear", "elementwise"}
    assert all(row.by == "path" for row in rows if row.before and row.after)


def test_what_moved_is_matched_by_kind_and_shape() -> None:
    before, after = review_of(SPEC, CPU), review_of(SPEC, CPU)
    from dataclasses import replace

    moved = replace(after.devices[0].components[0], path="elsewhere")
    device = replace(after.devices[0], components=(moved, *after.devices[0].components[1:]))
    rows = compare_reviews(before, replace(after, devices=(device,))).devices[0].components
    assert [row.by for row in rows if row.path == "elsewhere"] == ["kind and shape"]
    assert all(row.before and row.after for row in rows)


def test_a_model_against_itself_differs_in_nothing() -> None:
    diff = compare_reviews(review_of(SPEC), review_of(SPEC))
    assert all(device.change_ms == 0 and not device.is_certain for device in diff.devices)
    assert {row["matched_by"] for one in diff.to_object()["devices"] for row in one["components"]} == {"path"}
