"""Where a study's results lie, and that they all belong to one study."""

import os
from dataclasses import dataclass
from pathlib import Path

from profiles.errors import InputError, StorageError

__all__ = ["Workspace", "open_workspace", "write_atomically"]


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder of one study: `profiles/`, `search/`, `plan.json`, `report.html`, the report's frames and charts."""

    root: Path

    @property
    def profiles(self) -> Path:
        """The profile store."""
        return self.root / "profiles"

    @property
    def search(self) -> Path:
        """Journal, manifest and trials of the search."""
        return self.root / "search"

    @property
    def trials_file(self) -> Path:
        """Every trial as Parquet."""
        return self.search / "trials.parquet"

    @property
    def plan_file(self) -> Path:
        """The plan that the mapping made."""
        return self.root / "plan.json"

    @property
    def validation_file(self) -> Path:
        """The cost model's errors."""
        return self.root / "validation.json"

    @property
    def report_file(self) -> Path:
        """The report."""
        return self.root / "report.html"


def open_workspace(root: Path) -> Workspace:
    """The workspace in a folder, which is created where it is missing.

    Raises:
        InputError: the path is a file.
        StorageError: the folder cannot be created or written.
    """
    if root.exists() and not root.is_dir():
        raise InputError(f"{root}: must be a folder for the results, but is a file")
    workspace = Workspace(root)
    try:
        for folder in (workspace.profiles, workspace.search):
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(error.errno, f"{root}: cannot be created: {error.strerror}") from error
    return workspace


def write_atomically(file: Path, text: str) -> None:
    """Write `text` so that the file is either the old or the whole new one, also after a kill or on a full disk.

    Raises:
        StorageError: writing failed; the old file is as it was.
    """
    draft = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with draft.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(file)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StorageError(error.errno, f"{file}: cannot be written: {error.strerror}") from error
