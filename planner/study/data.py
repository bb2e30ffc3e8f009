"""`[data]`: where the rows come from and how they are split."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from profiles.edge import STRICT
from profiles.errors import InputError

__all__ = ["DataSection"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DataSection:
    """A built-in source (`flights`, `synthetic`) or a file in a known format (`criteo-kaggle`, `criteo-terabyte`).

    `rows` limits how many rows are read; `path` is relative to the study file; at most `max_bad_share` of a Criteo
    file's rows may be bad, and are left out.
    """

    __pydantic_config__: ClassVar = STRICT
    source: str = "flights"
    path: Path | None = None
    split: Literal["temporal", "random"] = "temporal"
    rows: int | None = None
    max_bad_share: float = 0.0

    def __post_init__(self) -> None:
        if self.rows is not None and self.rows < 1:
            raise InputError(f"rows: must be >= 1, but got {self.rows}")
        if not 0 <= self.max_bad_share < 1:
            raise InputError(f"max_bad_share: must be in [0, 1), but got {self.max_bad_share}")
