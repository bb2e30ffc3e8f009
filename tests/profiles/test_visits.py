from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.errors import InputError, StorageError
from profiles.sweep import SweepOptions
from profiles.visits import Sample, Visit, VisitLog, rows_of
from tests.profiles.rows import row

SAMPLE = Sample(latency_ms=1.0, wall_ms=2.0, cpu_ms=1.0)
VISIT = Visit(content_hash="a", timestamp="2030", warm=(SAMPLE,))

_times = st.floats(0, 1e9)
_samples = st.lists(st.builds(Sample, latency_ms=_times, wall_ms=_times, cpu_ms=_times), max_size=3).map(tuple)


@given(
    st.builds(
        Visit, content_hash=st.text(), timestamp=st.text(), warm=_samples, cold=_samples, is_contended=st.booleans()
    )
)
def test_visits_survive_their_row(visit: Visit) -> None:
    assert Visit.from_row(visit.to_row()) == visit


@pytest.mark.parametrize("bad", [{"schema": "other/1"}, {"warm": [[1.0]]}, {"warm": [["x", 1, 1]]}, {"cold": None}])
def test_a_row_that_is_no_visit_is_bad_input(bad: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Visit.from_row(VISIT.to_row() | bad)


def test_the_log_knows_what_it_was_given_and_what_was_added() -> None:
    written: list[Visit] = []
    log = VisitLog([VISIT], written.append)
    later = replace(VISIT, timestamp="2031")
    assert list(rows_of([later, row("b")], log)) == [row("b")]
    assert written == [later]
    assert log.of(["a", "b"]) == {"a": (VISIT, later)}


def test_a_visit_that_could_not_be_written_is_not_known() -> None:
    def fail(visit: Visit) -> None:
        raise StorageError(28, visit.timestamp)

    log = VisitLog(write=fail)
    with pytest.raises(StorageError):
        log.add(VISIT)
    assert log.of(["a"]) == {}


def test_visits_are_left_until_each_wanted_latency_has_enough() -> None:
    cold = replace(VISIT, warm=(), cold=(SAMPLE,))
    both = replace(VISIT, cold=(SAMPLE,))
    options = SweepOptions(cold=True, visits=3)
    assert options.visits_left([]) == 3
    assert options.visits_left([VISIT, VISIT, cold]) == 2
    assert options.visits_left([VISIT, VISIT, cold, both, cold]) == 0
    assert replace(options, warm=False).visits_left([VISIT] * 3) == 3


def test_contended_visits_are_made_again_up_to_a_bound() -> None:
    contended = replace(VISIT, is_contended=True)
    options = SweepOptions(retakes=2)
    assert options.visits_left([contended]) == 3
    assert options.visits_left([contended, VISIT, VISIT]) == 1
    assert options.visits_left([contended] * 3) == 2
    assert options.visits_left([contended] * 5) == 0
    assert replace(options, retakes=0).visits_left([contended]) == 2
    with pytest.raises(InputError, match="retakes must be >= 0, but got -1"):
        SweepOptions(retakes=-1)


def test_visits_of_older_parts_count_as_clean() -> None:
    old = {name: value for name, value in VISIT.to_row().items() if name != "is_contended"}
    assert Visit.from_row(old) == VISIT
