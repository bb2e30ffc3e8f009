"""A calibration: minutes of measuring on a device, that any study on the same machine can be pointed at."""

import math
from dataclasses import dataclass, replace
from pathlib import Path

from planner.cost_model.sampling import SamplingBudget, SamplingSpace, calibration_spaces
from planner.cost_model.sampling.adaptive import AdaptiveResult, SamplingProgress, adaptive_sweep
from planner.progress import Progress
from profiles.devices import resolve_device
from profiles.errors import InputError
from profiles.executors import Executor
from profiles.hardware import LOCAL_CPU
from profiles.shipped import SHIPPED_FOLDER, ship
from profiles.store import ProfileStore
from profiles.sweep_options import SweepOptions
from representations.provider import RecommendationProvider

__all__ = ["Calibration", "calibrate", "ship_calibration"]

# What a point took where calibrations were tried; a round that has begun is finished.
_SECONDS_PER_POINT, _FEWEST_FIRST = 0.25, 8
# Short visits and little waiting, so that minutes reach many components.
_VISITS = SweepOptions(
    seconds_per_visit=0.004,
    min_samples=3,
    retakes=2,
    quiet_core=0.25,
    patience=2.0,
    agreement=0.02,
    most_visits=6,
    most_call_seconds=0.1,
    group_size=1024,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """What to measure: the device, its threads, a budget of seconds and points, and some kinds instead of all.

    `training` adds backward passes and optimizers' steps. Of an accelerator copies to it are measured as well.
    """

    device: str = "cpu"
    threads: int = 1
    seconds: float = 300.0
    points: int = 450
    first: int = 24
    goal: float = 0.05
    kinds: tuple[str, ...] | None = None
    training: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.seconds < math.inf:
            raise InputError(f"--budget: must be a number of seconds > 0, but got {self.seconds}")
        _ = self.spaces

    @property
    def spaces(self) -> tuple[SamplingSpace, ...]:
        """What is sampled; an `UnknownNameError` where there is no space of a kind."""
        is_remote = self.device not in ("cpu", LOCAL_CPU)
        return calibration_spaces(self.kinds, training=self.training, copies=is_remote, what="--kind")

    def first_of(self, families: int) -> int:
        """How many points of each of so many families fill its space first: fewer where seconds are short."""
        return min(self.first, max(_FEWEST_FIRST, int(self.seconds / (families * _SECONDS_PER_POINT))))


def calibrate(
    calibration: Calibration, folder: Path, progress: Progress, executor: Executor | None = None
) -> AdaptiveResult:
    """Sample the spaces of usual models into a profile store; it goes on where it was killed.

    Point a study at the folder by `[sweep] profiles`: its families then need no measuring, and a device elsewhere is
    predicted from its own measurements instead of the catalogue's figures.

    Raises:
        InputError: the device is not here.
        StorageError: a row cannot be written; what was written before stays.
    """
    device = resolve_device(calibration.device).name
    spaces = calibration.spaces
    store = ProfileStore(folder)
    options = replace(_VISITS, threads=calibration.threads, seed=calibration.seed)
    with progress.stage(f"calibrating {device} for up to {calibration.seconds:g} s") as stage:

        def tell(now: SamplingProgress) -> None:
            worst = "" if now.worst_error is None else f", worst {now.worst} at {100 * now.worst_error:.1f} %"
            note = f"round {now.round}, {now.open_families} of {len(spaces)} families{worst}"
            stage.update(now.sweep.done, now.sweep.total, note)

        result = adaptive_sweep(
            spaces,
            RecommendationProvider(),
            store,
            device=device,
            executor=executor,
            options=options,
            budget=SamplingBudget(
                goal=calibration.goal, points=calibration.points, first=calibration.first_of(len(spaces))
            ),
            seconds_in_all=calibration.seconds,
            progress=tell,
        )
    store.drop_visits()
    return result


def ship_calibration(folder: Path, device: str, threads: int, to: Path = SHIPPED_FOLDER) -> Path:
    """Make the calibration's rows of the present set-up part of the package, for those who do not have the device.

    Raises:
        InputError: the folder holds no such rows.
    """
    from profiles.fingerprint import current_fingerprint

    key = current_fingerprint(device, threads).device_key()
    return ship([row for row in ProfileStore(folder).load() if row.fingerprint.device_key() == key], to)
