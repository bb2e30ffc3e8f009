from dataclasses import replace

from profiles.setups import other_setups, setup_differences
from tests.profiles.rows import row

NOW = replace(row("a").fingerprint, threads=1, libraries=(("torch", "2.13"), ("cpu capability", "AVX2")))


def test_equal_set_ups_differ_in_nothing_whenever_they_measured() -> None:
    assert setup_differences(replace(NOW, timestamp="1999", git_revision="abc"), NOW) == ()


def test_every_difference_is_named_with_both_values() -> None:
    stored = replace(NOW, threads=2, driver="cuda 12", libraries=(("torch", "2.12"), ("numba", "0.6")))
    assert setup_differences(stored, NOW) == (
        "threads 2 (now 1)",
        "driver cuda 12 (now none)",
        "cpu capability absent (now AVX2)",
        "numba 0.6 (now absent)",
        "torch 2.12 (now 2.13)",
    )


def test_other_set_ups_are_counted_and_told_apart() -> None:
    two = replace(NOW, threads=2)
    rows = [row("a", fingerprint=two), row("b", fingerprint=two), row("c", fingerprint=NOW)]
    assert other_setups(rows, NOW) == ("2 rows of local-cpu with threads 2 (now 1)",)
    assert other_setups(rows, two) == ("1 row of local-cpu with threads 1 (now 2)",)
    assert other_setups(rows, replace(NOW, device="gpu")) == ()
