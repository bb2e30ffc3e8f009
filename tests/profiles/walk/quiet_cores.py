"""Cores that are quiet and busy as told."""

from profiles.core_probe import CoreProbe, QuietCore

__all__ = ["Alternating", "Busy"]


class Alternating(QuietCore):
    """Busy at every other look."""

    def __init__(self) -> None:
        super().__init__(0.25, patience_s=0.0, probe=CoreProbe(lambda: None))
        self.waits = self.looks = 0

    def wait(self) -> None:
        self.waits += 1

    def stayed(self) -> bool:
        self.looks += 1
        return self.looks % 2 == 0


class Busy(Alternating):
    """Never quiet."""

    def stayed(self) -> bool:
        self.looks += 1
        return False
