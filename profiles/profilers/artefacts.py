"""Where a profiler's file of a module goes."""

import hashlib
import re
from pathlib import Path

from profiles.errors import InputError
from profiles.walk.subject import Subject

__all__ = ["MODEL_FILE", "artefact_path", "level_of"]

# The model's own path is empty.
MODEL_FILE = "model"


def artefact_path(folder: Path | None, kind: str, subject: Subject, suffix: str) -> Path:
    """`FOLDER/KIND/PATH.SUFFIX`, its folder made; names of modules that a file system may refuse get a hash instead.

    Raises:
        InputError: there is no folder.
    """
    if folder is None:
        raise InputError(f"{kind}: must have a folder to write to, but got none")
    name = subject.path or MODEL_FILE
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:120]
    if subject.path and (plain != subject.path or plain == MODEL_FILE):
        plain = f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    ending = "" if subject.phase == "forward" else f".{subject.phase}"
    path = folder / kind / f"{plain}{ending}.{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def level_of(subject: Subject) -> int:
    """0 for the model itself, 1 for the modules directly in it."""
    return subject.path.count(".") + 1 if subject.path else 0
