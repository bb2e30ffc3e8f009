import pytest

from profiles.lazy import lazy_attributes


def test_a_lazy_name_comes_from_its_module() -> None:
    load = lazy_attributes("package", {"dumps": "json"})
    assert load("dumps")([1]) == "[1]"


def test_other_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="module 'package' has no attribute 'nothing'"):
        lazy_attributes("package", {})("nothing")
