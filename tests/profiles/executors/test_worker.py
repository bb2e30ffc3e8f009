from collections.abc import Iterator

import pytest
import torch

from profiles.executors.in_process import InProcessExecutor
from profiles.executors.worker import MeasuringWorker
from profiles.records import ComponentProfile
from profiles.visits import VisitLog, rows_of
from tests.profiles.small_provider import QUICK, LinearProvider, broken, linear


@pytest.fixture
def worker() -> Iterator[MeasuringWorker]:
    before = torch.get_num_threads()
    yield MeasuringWorker("local-cpu", 1)
    torch.set_num_threads(before)


def test_it_reports_the_thread_count_that_torch_has(worker: MeasuringWorker) -> None:
    assert worker.fingerprint().threads == torch.get_num_threads() == 1


def test_it_sees_the_devices_of_its_machine(worker: MeasuringWorker) -> None:
    assert worker.devices() == InProcessExecutor().devices()
    assert worker.devices()[0] == "local-cpu"


def test_it_streams_the_visits_and_rows_of_a_group(worker: MeasuringWorker) -> None:
    log = VisitLog()
    rows = list(rows_of(worker.measure([linear(2), broken(1)], LinearProvider(), QUICK, {}), log))
    assert sorted(row.provenance for row in rows) == ["measured", "skipped"]
    measured = max(rows, key=lambda row: row.provenance == "measured").content_hash
    assert len(log.of([measured])[measured]) == QUICK.visits
    again = worker.measure([linear(2)], LinearProvider(), QUICK, log.of([measured]))
    assert [type(one) for one in again] == [ComponentProfile]
