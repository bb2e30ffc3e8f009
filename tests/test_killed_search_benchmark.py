from pathlib import Path

import pytest

from tests.benchmarks.killed_search import BENCHMARK, killed


@pytest.mark.slow
def test_a_killed_search_goes_on_and_loses_nothing(tmp_path: Path) -> None:
    found = killed(tmp_path, "", kills=1)
    assert found["kills"] == 1
    assert found["twice"] == 0
    assert found["finished"]


def test_the_page_says_how_soon_the_search_went_on() -> None:
    span = {"median": 1.2, "most": 1.5}
    journal = {"kills": 10, "since_kill_s": span, "searched_s": span, "same_finished": True, "twice": 0}
    blocks = BENCHMARK.describe({"storages": {"journal": {**journal, "steps_trained_again": 2}}})
    assert "| journal | 10 | 1.20 | 1.50 | 1.50 | yes | 0 | 2 |" in blocks[1]
