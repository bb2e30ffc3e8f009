"""Where a study's results lie, and that they all belong to one study."""

from dataclasses import dataclass
from pathlib import Path

from profiles.errors import InputError
from profiles.files import make_folder

__all__ = ["Workspace", "find_workspace", "open_workspace"]


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
    def exact_plan_file(self) -> Path:
        """The plan of the best mapping that an integer program found."""
        return self.root / "plan-exact.json"

    @property
    def validation_folder(self) -> Path:
        """The page on the cost model's errors, its frames and charts."""
        return self.root / "validation"

    @property
    def report_file(self) -> Path:
        """The report."""
        return self.root / "report.html"


def find_workspace(root: Path) -> Workspace:
    """The workspace in a folder, which may not be there.

    Raises:
        InputError: the path is a file.
    """
    if root.exists() and not root.is_dir():
        raise InputError(f"{root}: must be a folder for the results, but is a file")
    return Workspace(root)


def open_workspace(root: Path) -> Workspace:
    """The workspace in a folder, which is created where it is missing.

    Raises:
        InputError: the path is a file.
        StorageError: the folder cannot be created or written.
    """
    workspace = find_workspace(root)
    make_folder(workspace.profiles)
    make_folder(workspace.search)
    return workspace
