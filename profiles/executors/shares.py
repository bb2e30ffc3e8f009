"""Modules of one model in shares, of which each goes to some worker; workers may die."""

from collections import deque
from collections.abc import Sequence

from profiles.errors import InputError

__all__ = ["Shares"]

Share = tuple[str, ...]


class Shares:
    """Which paths are still to be measured.

    A share whose worker died comes again, `retries` times whole, then each of its modules alone as often; one whose
    worker dies every time is given up.
    """

    def __init__(self, paths: Sequence[str], size: int, *, retries: int = 1) -> None:
        if size < 1:
            raise InputError(f"shares: size must be >= 1, but got {size}")
        self._retries = retries
        starts = range(0, len(paths), size)
        self._waiting = deque((tuple(paths[start : start + size]), retries) for start in starts)
        self._out: dict[Share, int] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether a share is there to be taken."""
        return bool(self._waiting)

    @property
    def left(self) -> int:
        """How many modules are neither done nor given up."""
        return sum(len(share) for share, _ in self._waiting) + sum(map(len, self._out))

    def take(self) -> Share:
        """The next share, for a worker that is free."""
        share, retries_left = self._waiting.popleft()
        self._out[share] = retries_left
        return share

    def done(self, share: Share) -> None:
        """The share was measured."""
        del self._out[share]

    def lost(self, share: Share) -> str | None:
        """The share's worker died; returns the path that is given up by this, if one is."""
        retries_left = self._out.pop(share)
        if retries_left:
            self._waiting.appendleft((share, retries_left - 1))
        elif len(share) > 1:
            self._waiting.extendleft(((path,), self._retries) for path in reversed(share))
        else:
            return share[0]
        return None
