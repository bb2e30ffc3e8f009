"""A cache that paths look into, by id: which share of lookups hits."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

from profiles.edge import STRICT
from profiles.errors import InputError

__all__ = ["Cache", "HitCurve"]


@dataclass(frozen=True, kw_only=True, slots=True)
class HitCurve:
    """The share of lookups that hit (`rates`) over the cache's `entries`, linear between them and from (0, 0) on."""

    __pydantic_config__: ClassVar = STRICT
    entries: tuple[int, ...]
    rates: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.entries or self.entries[0] < 1 or any(b <= a for a, b in pairwise(self.entries)):
            raise InputError(f"entries: must be increasing and >= 1, but got {list(self.entries)}")
        if len(self.rates) != len(self.entries):
            raise InputError(f"rates: must have {len(self.entries)} values as entries has, but got {len(self.rates)}")
        if not all(0 <= rate <= 1 for rate in self.rates) or any(b < a for a, b in pairwise(self.rates)):
            raise InputError(f"rates: must be in [0, 1] and never fall, but got {list(self.rates)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cache:
    """A cache of `capacity_bytes` in entries of `entry_bytes`, shared evenly by `features` features.

    `encoder`: an id's final embedding. `decoder`: the decoded centroids of encoder outputs. `policy` says which ids an
    encoder cache holds where the hit rate follows from `workload.ids`: the most frequent ones (`static`), or the last
    used (`lru`). `hit_rate` is the measured curve; a decoder cache needs one, as its hits follow no id.
    """

    __pydantic_config__: ClassVar = STRICT
    name: str
    kind: Literal["encoder", "decoder"] = "encoder"
    capacity_bytes: int
    entry_bytes: int
    features: int = 1
    policy: Literal["static", "lru"] = "static"
    hit_rate: HitCurve | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("name: must not be empty")
        if self.capacity_bytes < 0:
            raise InputError(f"capacity_bytes: must be >= 0, but got {self.capacity_bytes} ({self.name})")
        for name in ("entry_bytes", "features"):
            if (value := getattr(self, name)) < 1:
                raise InputError(f"{name}: must be >= 1, but got {value} ({self.name})")
        if self.kind == "decoder" and self.hit_rate is None:
            raise InputError(f"hit_rate: is needed by a decoder cache ({self.name})")

    @property
    def entries_per_feature(self) -> int:
        """Entries that each feature has to itself."""
        return self.capacity_bytes // self.entry_bytes // self.features
