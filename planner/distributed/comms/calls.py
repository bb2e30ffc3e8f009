"""One collective as it is called: which, and over how many bytes."""

from dataclasses import dataclass

from planner.distributed.network import COLLECTIVES, Collective
from profiles.errors import InputError, UnknownNameError

__all__ = ["CollectiveCall"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectiveCall:
    """A collective over `message_bytes`, counted as `planner.distributed.network` does: the larger of what one rank
    gives and what it gets.
    """

    collective: Collective
    message_bytes: int

    def __post_init__(self) -> None:
        if self.collective not in COLLECTIVES:
            raise UnknownNameError("collective", self.collective, COLLECTIVES)
        if self.message_bytes < 1:
            raise InputError(f"message_bytes: must be >= 1, but got {self.message_bytes}")
