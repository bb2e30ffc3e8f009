"""A study that a command works on: read, with its folder and its progress."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.cli.out_folder import naming_out
from planner.cli.output import message

if TYPE_CHECKING:
    from planner.cost_model.composition import CostModel
    from planner.pipeline.data import StudyData
    from planner.pipeline.workspace import Workspace
    from planner.progress import Progress
    from planner.study import Study

__all__ = ["AllowStale", "Profiles", "StudyJob", "open_job"]

Profiles = Annotated[
    Path | None,
    typer.Option("--profiles", metavar="DIR", help="A calibration's folder: families that it holds are not measured."),
]
AllowStale = Annotated[
    bool, typer.Option("--allow-stale", help="Admit profiles of another set-up; predictions then say what differs.")
]


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyJob:
    """The study as parsed and as read, and where its results go."""

    study: "Study"
    study_object: dict[str, Any]
    workspace: "Workspace"
    progress: "Progress"

    def data(self) -> "StudyData":
        """The study's rows, read and split."""
        from planner.pipeline.data import load_study_data

        with self.progress.stage(f"reading {self.study.data.source}"):
            return load_study_data(self.study)

    def cost_model(self, data: "StudyData") -> "CostModel":
        """What the study's measurements say of every device."""
        from planner.pipeline.modelling import fit_cost_model

        with self.progress.stage("fitting the cost model"):
            return fit_cost_model(self.study, data, self.workspace)


def open_job(
    study_file: Path, out: Path | None, profiles: Path | None, *, allow_stale: bool, fills: bool = True
) -> StudyJob:
    """Read a study; `profiles` and `allow_stale` go before what it says itself.

    A command that `fills` the folder has it made; one that goes on from what lies there has not.

    Raises:
        InputError: no such file, or a study that is wrong.
        StorageError: the folder cannot be made.
    """
    from planner.pipeline.workspace import find_workspace, open_workspace
    from planner.progress import progress_for
    from planner.study import study_from_object
    from profiles.edge import read_toml
    from profiles.store import require_profiles

    if profiles is not None:
        require_profiles(profiles, "--profiles")
    study_object = read_toml(study_file)
    study = study_from_object(study_object, str(study_file), study_file.parent)
    where = study.sweep.profiles if profiles is None else str(profiles.absolute())
    section = replace(study.sweep, profiles=where, allow_stale=allow_stale or study.sweep.allow_stale)
    study = replace(study, sweep=section)
    _warn_of_crowding(study)
    with naming_out():
        workspace = (open_workspace if fills else find_workspace)(out or Path("out") / study.name)
    return StudyJob(study=study, study_object=study_object, workspace=workspace, progress=progress_for())


def _warn_of_crowding(study: "Study") -> None:
    servers = sum(device.servers for device in study.devices if device.hardware.is_local)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if servers * study.sweep.threads > cores:
        threads = f" of {study.sweep.threads} threads" if study.sweep.threads > 1 else ""
        counted = f"{servers} server{'' if servers == 1 else 's'}{threads}"
        message(
            f"warning: devices: the local ones have {counted} in all, but this machine {cores} cores; latencies are "
            "measured with the machine idle, so servers that share a core will be slower than planned"
        )
