"""Which processor cores each process of a replay keeps to itself."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["CoreShare", "available_cores", "share_cores"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CoreShare:
    """The generator's cores and each worker's; all empty where there are too few, and `note` says so."""

    generator: tuple[int, ...]
    workers: tuple[tuple[int, ...], ...]
    note: str = ""


def available_cores() -> tuple[int, ...]:
    """The cores that this process may run on."""
    return tuple(sorted(os.sched_getaffinity(0)))


def share_cores(cores: Sequence[int], workers: int, threads: int) -> CoreShare:
    """One core for the generator and `threads` for each worker, where there are so many."""
    needed = 1 + workers * threads
    if len(cores) < needed:
        note = f"processes are not pinned, and wait for each other: {needed} cores are needed, {len(cores)} are here"
        return CoreShare(generator=(), workers=((),) * workers, note=note)
    own = [tuple(cores[1 + worker * threads : 1 + (worker + 1) * threads]) for worker in range(workers)]
    return CoreShare(generator=(cores[0],), workers=tuple(own))
