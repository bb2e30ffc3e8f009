"""Where the measurements of a study's devices come from, and whether they may be used.

The study's own store comes first, then the calibration that it is pointed at (`[sweep] profiles`), then what ships with
the package. Rows of this machine must be of its present set-up; those of a device elsewhere are of one set-up, the
newest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.cost_model.replaced_rows import replaced_notes
from planner.cost_model.training_rows import WHOLE_MODELS
from planner.pipeline.workspace import Workspace
from planner.study import Study
from profiles.errors import InputError
from profiles.fingerprint import current_fingerprint
from profiles.hardware import LOCAL_CPU
from profiles.records import ComponentProfile, Fingerprint
from profiles.setups import other_setups, setup_differences
from profiles.shipped import shipped_profiles
from profiles.store import ProfileStore, newest_rows, require_profiles

__all__ = ["SourcedRows", "calibrated_rows", "calibration_notes", "source_names", "sourced_rows"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SourcedRows:
    """Measured rows of one set-up, whole models among them, and what a reader of their predictions must know."""

    rows: tuple[ComponentProfile, ...] = ()
    notes: tuple[str, ...] = ()


def sourced_rows(study: Study, workspace: Workspace, kind: str) -> SourcedRows:
    """The rows of one kind of device; none where none were measured.

    Raises:
        InputError: this machine's rows are all of another set-up, and `[sweep] allow_stale` does not admit them; names
            what differs.
    """
    history = ProfileStore(workspace.profiles).history()
    stored = _measured(newest_rows(history), kind)
    calibrated = _calibrated(study, kind)
    if kind == LOCAL_CPU:
        found = _local(study, workspace, [*calibrated, *stored])
        return replace(found, notes=(*found.notes, *replaced_notes(history, kind)))
    for rows, note in ((stored, ""), (calibrated, ""), (list(shipped_profiles(kind)), "measured elsewhere")):
        if components := _components(rows):
            newest = components[-1].fingerprint
            notes = (f"{kind}: {note}, on {newest.timestamp[:10]} ({newest.processor})",) if note else ()
            return SourcedRows(rows=_of_setup(rows, newest), notes=notes)
    return SourcedRows()


def source_names(study: Study, workspace: Workspace) -> str:
    """Where rows of this machine may lie, for a reader."""
    calibration = study.sweep.profiles
    return f"profiles in {workspace.profiles}" + (f" or {study.folder / calibration}" if calibration else "")


def calibrated_rows(study: Study, kind: str, now: Fingerprint) -> tuple[ComponentProfile, ...]:
    """Components that the study's calibration holds of a device, measured under the present set-up."""
    return _of_setup(_components(_calibrated(study, kind)), now)


def calibration_notes(study: Study, kind: str, now: Fingerprint) -> tuple[str, ...]:
    """Why none of the study's calibration counts for a device; empty where it has none, or some rows count."""
    if study.sweep.profiles is None or calibrated_rows(study, kind, now):
        return ()
    folder = study.folder / study.sweep.profiles
    rows = ProfileStore(folder).load()
    if _measured(rows, kind):
        return tuple(f"{folder}: {other}: not used" for other in other_setups(rows, now))
    held = ", ".join(sorted({row.device for row in rows}))
    return (f"{folder}: {f'profiles of {held}' if held else 'no profiles'}, none of {kind}: not used",)


def _local(study: Study, workspace: Workspace, rows: Sequence[ComponentProfile]) -> SourcedRows:
    components = _components(rows)
    if not components:
        return SourcedRows()
    now = current_fingerprint(LOCAL_CPU, study.sweep.threads)
    if _components(present := _of_setup(rows, now)):
        return SourcedRows(rows=present)
    newest = components[-1].fingerprint
    differing = "; ".join(setup_differences(newest, now))
    if not study.sweep.allow_stale:
        raise InputError(
            f"{source_names(study, workspace)}: the {len(components)} of {LOCAL_CPU} were measured under another "
            f"set-up: {differing}; sweep again, or admit them by --allow-stale"
        )
    return SourcedRows(rows=_of_setup(rows, newest), notes=(f"stale: measured under another set-up: {differing}",))


def _calibrated(study: Study, kind: str) -> list[ComponentProfile]:
    if study.sweep.profiles is None:
        return []
    folder = require_profiles(study.folder / study.sweep.profiles, "sweep.profiles")
    return _measured(ProfileStore(folder).load(), kind)


def _measured(rows: Sequence[ComponentProfile], kind: str) -> list[ComponentProfile]:
    return [row for row in rows if row.device == kind and row.provenance == "measured"]


def _components(rows: Sequence[ComponentProfile]) -> list[ComponentProfile]:
    return [row for row in rows if row.kind not in WHOLE_MODELS]


def _of_setup(rows: Sequence[ComponentProfile], setup: Fingerprint) -> tuple[ComponentProfile, ...]:
    return tuple(row for row in rows if row.fingerprint.device_key() == setup.device_key())
