"""`recplan profile`: a model module by module."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from planner.cli.options import Json, Ray
from planner.cli.out_folder import try_out
from planner.cli.output import message, print_json, print_lines
from planner.cli.profiling_options import (
    FORMATS,
    Backward,
    Batch,
    Budget,
    Classes,
    Cold,
    Depth,
    Device,
    Formats,
    Include,
    Interval,
    List,
    Measures,
    MinShare,
    OutFolder,
    Preparations,
    TargetName,
    Threads,
)
from profiles.errors import InputError, MeasurementError
from profiles.units import format_bytes

if TYPE_CHECKING:
    from profiles.model_profile import ModelProfile
    from profiles.preprocessors import Preprocessor
    from profiles.profile_options import ProfileOptions, ProfileProgress
    from profiles.profilers import Profiler
    from profiles.providers.target import Target
    from profiles.records import ComponentProfile
    from profiles.results import ResultWriter

__all__ = ["profile", "register"]

_OTHER_TERMINAL = (120, 40)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(profile)


def profile(
    target: TargetName = None,
    out: OutFolder = None,
    formats: Formats = None,
    batch: Batch = None,
    backward: Backward = False,
    cold: Cold = True,
    depth: Depth = None,
    include: Include = None,
    classes: Classes = None,
    min_share: MinShare = 0.0,
    interval: Interval = 0.05,
    budget: Budget = None,
    threads: Threads = 1,
    device: Device = "local-cpu",
    preparations: Preparations = None,
    measures: Measures = None,
    ray: Ray = None,
    list_: List = False,
    json: Json = False,
) -> None:
    """Profile a model module by module: in the model, alone with warm and with cold caches."""
    if list_:
        _list_names(json=json)
        return
    checked, writers = _checked(target, out, formats)
    from profiles.plug_ins import named_preprocessors, named_profilers
    from profiles.profile_options import ProfileOptions

    request = _Request(
        target=checked,
        options=ProfileOptions(
            max_depth=depth,
            threads=threads,
            cold=cold,
            backward=backward,
            include=tuple(include or ()),
            classes=tuple(classes or ()),
            min_share=min_share,
            interval=interval,
            budget_s=budget,
            folder=out,
        ),
        preprocessors=named_preprocessors((*([f"batch={batch}"] if batch else ()), *(preparations or ()))),
        profilers=named_profilers(measures or (), out),
        device=device,
        ray=ray,
    )
    result, loaded = request.measure()
    files = [writer.write(result, out) for writer in writers] if out else []
    request.forget_parts()
    if json:
        print_json({**_profile_object(result, loaded), "files": [str(file) for file in files]})
    else:
        _show(result, loaded, files)


def _checked(target: str | None, out: Path | None, formats: list[str] | None) -> "tuple[str, tuple[ResultWriter, ...]]":
    """The target's name and the writers; what is wrong with these is told before torch is loaded."""
    if target is None:
        raise InputError("profile: name a target, or ask for --list")
    if formats and out is None:
        raise InputError("profile: --format needs a folder to write to: give --out, too")
    from profiles.plug_ins import named_writers
    from profiles.providers import check_target

    check_target(target)
    if out is None:
        return target, ()
    writers = named_writers(formats or FORMATS.split(","))
    try_out(out)
    return target, writers


@dataclass(frozen=True, kw_only=True, slots=True)
class _Request:
    """What to profile, how and where; `ray` is a cluster's address."""

    target: str
    options: "ProfileOptions"
    preprocessors: "tuple[Preprocessor, ...]"
    profilers: "tuple[Profiler, ...]"
    device: str
    ray: str | None

    def measure(self) -> "tuple[ModelProfile, Target]":
        """The profile of the target, and the target as it was loaded here.

        Raises:
            MeasurementError: the model could not be run at all.
        """
        from profiles.devices import resolve_device
        from profiles.placement import placed_target
        from profiles.providers import find_target
        from profiles.walk import profile_target

        place = None if self.ray else resolve_device(self.device, what="--device").torch_device
        target = find_target(self.target)
        with _progress(f"profiling {self.target}") as progress:
            if place is None:
                result = self._measure_on_ray(progress)
            else:
                result = profile_target(
                    placed_target(target, place),
                    options=self.options,
                    preprocessors=self.preprocessors,
                    profilers=self.profilers,
                    progress=progress,
                )
        root = result.rows[0]
        if not any(row.in_situ or row.warm for row in result.rows):
            raise MeasurementError(f"target {self.target!r}: forward raised {root.reason}")
        if root.provenance == "aggregated":
            message(f"warning: target {self.target!r}: forward raised {root.reason}")
        return result, target

    def forget_parts(self) -> None:
        """Remove what workers of a cluster left of this request in the folder: the files hold it now."""
        from profiles.part_file import part_file

        file = part_file(self.target, self.options, self.preprocessors, self.profilers)
        if self.ray and file:
            file.clear()

    def _measure_on_ray(self, progress: "Callable[[ProfileProgress], None]") -> "ModelProfile":
        from profiles.executors.ray_profile import profile_on_ray
        from profiles.providers import find_target

        return profile_on_ray(
            self.target,
            partial(find_target, self.target),
            address=self.ray or "local",
            device=self.device,
            options=self.options,
            preprocessors=self.preprocessors,
            profilers=self.profilers,
            progress=progress,
        )


@contextmanager
def _progress(title: str) -> "Iterator[Callable[[ProfileProgress], None]]":
    from planner.progress import progress_for

    with progress_for().stage(title) as stage:

        def tell(now: "ProfileProgress") -> None:
            stage.update(now.done, now.total, now.path or "the model")

        yield tell


def _show(result: "ModelProfile", target: "Target", files: list[Path]) -> None:
    from profiles.results import profile_lines

    width = shutil.get_terminal_size(_OTHER_TERMINAL).columns
    for phase in dict.fromkeys(row.phase for row in result.rows):
        if phase != "forward":
            print_lines(["", f"{phase} pass"])
        print_lines(profile_lines(result, width, phase=phase))
    print_lines([_parameters(result.rows[0])])
    print_lines(f"note: {note}" for note in dict.fromkeys((*target.notes, *result.notes)))
    print_lines(f"wrote {file}" for file in files)


def _profile_object(result: "ModelProfile", target: "Target") -> dict[str, object]:
    """The summary; `parameter_bytes` is that of the model asked for, `latency_kind` how `latency_ms` was taken."""
    summary, root = result.summary(), result.rows[0]
    profiled = summary["parameter_bytes"]
    return {
        **summary,
        "target": target.name,
        "latency_kind": "alone" if root.warm else "in situ" if root.in_situ else None,
        "parameter_bytes": _asked_for_bytes(root),
        "profiled_parameter_bytes": profiled,
        "notes": list(dict.fromkeys((*target.notes, *result.notes))),
    }


def _parameters(root: "ComponentProfile") -> str:
    profiled, asked_for = root.parameter_bytes or 0, _asked_for_bytes(root) or 0
    if asked_for == profiled:
        return f"parameters: {format_bytes(profiled)}"
    return f"parameters: {format_bytes(asked_for)} in the model; {format_bytes(profiled)} were profiled"


def _asked_for_bytes(root: "ComponentProfile") -> int | None:
    """Of the model as it was asked for, which may have been cut to fit."""
    true_bytes = root.figures.get("true_parameter_bytes")
    return root.parameter_bytes if true_bytes is None else int(true_bytes)


def _list_names(*, json: bool) -> None:
    from profiles.preprocessors import preprocessors
    from profiles.profilers import profilers
    from profiles.providers import target_names
    from profiles.results import result_writers

    known = {
        "preprocessors": preprocessors.names(),
        "profilers": profilers.names(),
        "result_writers": result_writers.names(),
    }
    if json:
        print_json({"targets": target_names(), **known})
        return
    print_lines(f"targets of {provider}: {', '.join(names)}" for provider, names in target_names().items())
    print_lines(f"{what.replace('_', ' ')}: {', '.join(names)}" for what, names in known.items())
