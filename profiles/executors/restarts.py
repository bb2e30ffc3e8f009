"""Run groups on a worker that may die: the group runs again, then one by one, then the culprit is given up."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from profiles.component import Component
from profiles.records import ComponentProfile

__all__ = ["WorkerDiedError", "run_with_restarts"]

Group = tuple[Component, ...]


class WorkerDiedError(Exception):
    """The worker process is gone, and with it the visit that it was making."""


def run_with_restarts(
    groups: Sequence[Group],
    run: Callable[[Group], Iterable[ComponentProfile]],
    give_up: Callable[[Component, str], ComponentProfile],
    *,
    retries: int = 1,
) -> Iterator[ComponentProfile]:
    """Rows of every group, group by group; those that came before their worker died come again.

    `run` raises `WorkerDiedError` where its worker died, and starts a new worker when it is called again. A group is
    run `retries` times more, then each of its components alone as often; one whose worker dies every time is given up
    with the reason.
    """
    waiting = deque((group, retries) for group in groups)
    while waiting:
        group, retries_left = waiting.popleft()
        try:
            yield from run(group)
        except WorkerDiedError as error:
            if retries_left:
                waiting.appendleft((group, retries_left - 1))
            elif len(group) > 1:
                waiting.extendleft(((component,), retries) for component in reversed(group))
            else:
                yield give_up(group[0], f"the measuring worker died {retries + 1} times: {error}")
