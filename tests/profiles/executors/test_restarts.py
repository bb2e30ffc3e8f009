from collections.abc import Sequence

from profiles.component import Component, make_component
from profiles.executors.restarts import WorkerDiedError, run_with_restarts
from profiles.records import ComponentProfile
from tests.profiles.rows import row


class Worker:
    """Dies on a group that holds a deadly batch, as many times as it is told to."""

    def __init__(self, deadly_batch: int, deaths: int) -> None:
        self.deadly_batch, self.deaths = deadly_batch, deaths
        self.groups: list[list[int]] = []

    def run(self, group: Sequence[Component]) -> list[ComponentProfile]:
        self.groups.append([component.batch for component in group])
        if self.deaths and self.deadly_batch in self.groups[-1]:
            self.deaths -= 1
            raise WorkerDiedError("killed")
        return [row(str(component.batch)) for component in group]


def give_up(component: Component, reason: str) -> ComponentProfile:
    return row(str(component.batch)).skipped(reason)


def outcome(worker: Worker, retries: int = 1) -> list[tuple[str, str]]:
    groups = [tuple(make_component("k", batch) for batch in batches) for batches in ((1, 2, 3), (4,))]
    rows = run_with_restarts(groups, worker.run, give_up, retries=retries)
    return [(profile.content_hash, profile.reason) for profile in rows]


def test_without_deaths_every_group_runs_once() -> None:
    worker = Worker(deadly_batch=0, deaths=0)
    assert outcome(worker) == [("1", ""), ("2", ""), ("3", ""), ("4", "")]
    assert worker.groups == [[1, 2, 3], [4]]


def test_a_group_runs_again_after_a_death() -> None:
    worker = Worker(deadly_batch=2, deaths=1)
    assert outcome(worker) == [("1", ""), ("2", ""), ("3", ""), ("4", "")]
    assert worker.groups == [[1, 2, 3], [1, 2, 3], [4]]


def test_a_deadly_component_is_found_alone_and_given_up() -> None:
    worker = Worker(deadly_batch=2, deaths=100)
    reason = "the measuring worker died 2 times: killed"
    assert outcome(worker) == [("1", ""), ("2", reason), ("3", ""), ("4", "")]
    assert worker.groups == [[1, 2, 3], [1, 2, 3], [1], [2], [2], [3], [4]]


def test_without_retries_the_first_death_counts() -> None:
    worker = Worker(deadly_batch=4, deaths=100)
    assert outcome(worker, retries=0)[-1] == ("4", "the measuring worker died 1 times: killed")
    assert worker.groups == [[1, 2, 3], [4]]
