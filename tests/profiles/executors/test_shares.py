import pytest

from profiles.errors import InputError
from profiles.executors.shares import Shares


def test_every_path_comes_once() -> None:
    shares = Shares(["a", "b", "c"], 2)
    taken = []
    while shares.is_waiting:
        taken.append(shares.take())
        shares.done(taken[-1])
    assert taken == [("a", "b"), ("c",)]
    assert shares.left == 0


def test_what_is_out_is_still_left() -> None:
    shares = Shares(["a", "b", "c"], 2)
    shares.take()
    assert shares.left == 3


def test_a_lost_share_comes_again_whole_then_one_by_one_until_it_is_given_up() -> None:
    shares = Shares(["a", "b"], 2, retries=1)
    assert shares.lost(shares.take()) is None
    assert shares.lost(shares.take()) is None
    assert shares.take() == ("a",)
    assert shares.lost(("a",)) is None
    assert shares.take() == ("a",)
    assert shares.lost(("a",)) == "a"
    assert shares.take() == ("b",)
    shares.done(("b",))
    assert (shares.left, shares.is_waiting) == (0, False)


def test_a_share_holds_something() -> None:
    with pytest.raises(InputError, match="size must be >= 1, but got 0"):
        Shares(["a"], 0)
