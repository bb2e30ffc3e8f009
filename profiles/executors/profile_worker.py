"""The profiling worker: a plain object that one Ray actor wraps per device."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from profiles.devices import resolve_device
from profiles.fingerprint import current_fingerprint
from profiles.placement import placed_target
from profiles.preprocessors.protocol import Preprocessor
from profiles.profile_options import ProfileOptions
from profiles.profilers.protocol import Profiler
from profiles.providers.target import Target
from profiles.walk import walking
from profiles.walk.module_part import ModulePart, ProfilePart
from profiles.walk.selection import NO_MODULE

__all__ = ["Captured", "Delivery", "ProfileJob", "ProfilingWorker"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileJob:
    """What to profile, in a form that travels: `load` makes the target on the worker."""

    load: Callable[[], Target]
    options: ProfileOptions
    preprocessors: Sequence[Preprocessor] = ()
    profilers: Sequence[Profiler] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Captured:
    """A model as a worker holds it: its environment's key, its identity (`profiles.walk.model_identity`), and the paths
    of its modules, level by level.
    """

    device_key: str
    model: str
    paths: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """A part, and the contents of the files that its profilers wrote, by path relative to the profile's folder."""

    part: ProfilePart
    files: Mapping[str, bytes]


class ProfilingWorker:
    """Owns its process: holds the model, captured once, and measures shares of its modules.

    Profilers write into a folder of the worker's machine, so that no file system need be shared.
    """

    def __init__(self, job: ProfileJob, device: str) -> None:
        self._job, self._device = job, device
        self._stack = ExitStack()
        self._knows_model = False

    def prepare(self) -> Captured:
        """Load and capture the model."""
        job = self._job
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="recplan-")))
        options = replace(job.options, folder=self._folder)
        self._target = placed_target(job.load(), resolve_device(self._device).torch_device)
        self._walk = self._stack.enter_context(
            walking(self._target, options=options, preprocessors=job.preprocessors, profilers=job.profilers)
        )
        return Captured(
            device_key=current_fingerprint(self._device, job.options.threads).device_key(),
            model=self._walk.identity,
            paths=self._walk.paths,
        )

    def shares(self) -> Mapping[str, float]:
        """Each module's part of the model's time, as this worker sees it."""
        return self._walk.shares()

    def measure(self, paths: Sequence[str], shares: Mapping[str, float] | None = None) -> Delivery:
        """Measure the modules of these paths; by `shares`, if given, it is decided which take too little time."""
        part = self._measured(paths, shares)
        names = {name for module in part.modules for name in module.row.artefacts.values()}
        files = {name: (self._folder / name).read_bytes() for name in sorted(names)}
        for name in names:
            (self._folder / name).unlink()
        return Delivery(part=part, files=files)

    def _measured(self, paths: Sequence[str], shares: Mapping[str, float] | None) -> ProfilePart:
        """The part; where profilers tell what modules take of the model, the model is measured once here, too."""
        if self._knows_model or not self._job.profilers:
            return self._walk.measure(paths, shares=shares)
        part = self._walk.measure({"", *paths}, shares=shares)
        self._knows_model = True
        return replace(part, modules=tuple(one for one in part.modules if one.row.path in paths))

    def close(self) -> None:
        """Leave the model as it was found."""
        self._stack.close()

    def given_up(self, path: str, reason: str) -> ProfilePart:
        """The row of a module that is not run alone, with the reason."""
        options = replace(self._job.options, include=(NO_MODULE,))
        with walking(self._target, options=options, preprocessors=self._job.preprocessors) as walk:
            part = walk.measure((path,))
        return replace(part, modules=tuple(_skipped(one, reason) for one in part.modules))


def _skipped(module: ModulePart, reason: str) -> ModulePart:
    return replace(module, row=module.row.skipped(reason), is_aggregated=True)
