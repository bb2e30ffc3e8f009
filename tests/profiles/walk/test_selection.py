import pytest
from torch import nn

from profiles.errors import InputError
from profiles.profile_options import ProfileOptions
from profiles.walk.selection import NO_MODULE, check_filters, why_left_out
from profiles.walk.tree import module_tree

ROOT, LINEAR, RELU = module_tree(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))


def test_everything_is_run_unless_told_otherwise() -> None:
    assert not any(why_left_out(node, ProfileOptions(), share=0.0) for node in (ROOT, LINEAR, RELU))


def test_paths_are_chosen_by_globs() -> None:
    options = ProfileOptions(include=("", "[1-9]"))
    assert [bool(why_left_out(node, options, None)) for node in (ROOT, LINEAR, RELU)] == [False, True, False]
    assert why_left_out(LINEAR, options, None) == "not run alone: its path matches none of '', '[1-9]'"


def test_classes_are_chosen_by_name() -> None:
    options = ProfileOptions(classes=("Lin*", "ReLU"))
    assert [bool(why_left_out(node, options, None)) for node in (ROOT, LINEAR, RELU)] == [True, False, False]


def test_a_small_share_of_the_time_is_left_out_and_an_unknown_one_is_not() -> None:
    options = ProfileOptions(min_share=0.01)
    assert why_left_out(LINEAR, options, 0.005) == "not run alone: takes 0.50% of the model's time, less than 1.00%"
    assert why_left_out(LINEAR, options, 0.01) == why_left_out(LINEAR, options, None) == ""


def test_a_filter_that_no_module_passes_is_refused() -> None:
    nodes = (ROOT, LINEAR, RELU)
    check_filters(nodes, ProfileOptions(include=("", "1"), classes=("Lin*",)))
    check_filters(nodes, ProfileOptions(include=(NO_MODULE,)))
    with pytest.raises(InputError, match=r"include 'zz' matches no module; there are: 0, 1"):
        check_filters(nodes, ProfileOptions(include=("0", "zz")))
    with pytest.raises(InputError, match=r"class 'Conv\*' matches no module; there are: Sequential, Linear, ReLU"):
        check_filters(nodes, ProfileOptions(classes=("Conv*",)))
