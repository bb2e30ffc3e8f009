"""The extension point through which a profile is written in another form."""

from pathlib import Path
from typing import Protocol

from profiles.model_profile import ModelProfile

__all__ = ["ResultWriter"]


class ResultWriter(Protocol):
    """Writes a profile into its folder; tested by subclassing `profiles.testing.ResultWriterContract`."""

    name: str

    def write(self, profile: ModelProfile, folder: Path) -> Path:
        """Write and return the file (or folder) that was written; what is there of the same name is replaced."""
        ...
