import pytest

import planner


def test_the_public_names_are_sorted() -> None:
    assert planner.__all__ == sorted(planner.__all__)


@pytest.mark.parametrize("name", planner.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(planner, name) is not None


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'plan_everything'"):
        _ = planner.plan_everything
