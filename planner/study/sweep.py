"""`[sweep]`: how much measuring the component profiles may cost."""

from dataclasses import dataclass
from typing import ClassVar

from profiles.edge import STRICT
from profiles.errors import InputError

__all__ = ["SweepSection"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepSection:
    """Batch sizes to measure each component at, and bounds on the time spent.

    `components` caps how many distinct (component, batch) points are measured; the cost model fills in the rest.
    `adaptive` chooses them where the model of their family is least certain instead, until it is wrong by no more
    than `goal` on shapes held out, or has used `points` or `seconds` for a kind of component. `profiles` is a
    folder of a calibration, relative to the study: families that it holds are not measured. `allow_stale` admits
    measurements of another set-up. `whole_models` is how many models of each representation are measured whole, to
    learn what components cost inside a model; 0 for none.
    """

    __pydantic_config__: ClassVar = STRICT
    batches: tuple[int, ...] = (1, 8, 32, 128, 512, 2048, 4096)
    components: int = 600
    visits: int = 3
    milliseconds_per_visit: float = 4.0
    threads: int = 1
    adaptive: bool = False
    goal: float = 0.05
    points: int = 450
    seconds: float = 120.0
    profiles: str | None = None
    allow_stale: bool = False
    whole_models: int = 2

    def __post_init__(self) -> None:
        if len(self.batches) < 2 or min(self.batches) < 1 or len(set(self.batches)) < len(self.batches):
            raise InputError(f"batches: must be two or more distinct sizes >= 1, but got {list(self.batches)}")
        for name in ("components", "visits", "threads", "points"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}: must be >= 1, but got {getattr(self, name)}")
        if self.whole_models < 0:
            raise InputError(f"whole_models: must be >= 0, but got {self.whole_models}")
        if not 0 < self.goal < 1:
            raise InputError(f"goal: must be in (0, 1), but got {self.goal}")
        for name in ("milliseconds_per_visit", "seconds"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name}: must be > 0, but got {getattr(self, name)}")
