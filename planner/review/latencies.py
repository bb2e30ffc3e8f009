"""Where a device's latencies come from: a store of profiles, what ships, a quick sweep here and now, or an estimate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from planner.cost_model.estimated import estimated_model
from planner.cost_model.estimates import DeviceModel
from planner.cost_model.features import family_of
from planner.cost_model.model import FittedDeviceModel, fit_device_model, naming_source
from planner.cost_model.replaced_rows import replaced_notes
from planner.cost_model.traffic import in_context
from planner.cost_model.training_rows import WHOLE_MODELS, component_of
from planner.progress import Progress
from planner.review.reviewed_device import ReviewedDeviceModel, cut_to_fit
from planner.review.subject import Subject
from planner.study import DeviceSection
from profiles.component import Component
from profiles.devices import local_devices
from profiles.errors import InputError
from profiles.hardware import LOCAL_CPU
from profiles.power import PowerMeter
from profiles.records import ComponentProfile
from profiles.shipped import shipped_profiles
from profiles.store import ProfileStore, newest_rows, require_profiles
from profiles.sweep_options import SweepOptions
from representations.components import work_of
from representations.provider import RecommendationProvider

if TYPE_CHECKING:
    from profiles.sweep import SweepProgress

__all__ = ["LatencySources", "SourcedModel", "device_models"]

_TABLE_BUDGET_BYTES = 4 * 10**9
# No table may take more of this machine's memory than this.
_MEMORY_SHARE = 0.25


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencySources:
    """`profiles` is a store of profiles or a calibration; `store` keeps what is measured now, a passing folder if None.

    Without `measure`, nothing is. With `allow_stale`, rows of this machine under another set-up will do.
    """

    profiles: Path | None = None
    store: Path | None = None
    measure: bool = True
    threads: int = 1
    seconds_per_visit: float = 0.01
    allow_stale: bool = False
    table_budget_bytes: int = _TABLE_BUDGET_BYTES

    def __post_init__(self) -> None:
        if self.profiles is not None:
            require_profiles(self.profiles, "--profiles")


@dataclass(frozen=True, kw_only=True, slots=True)
class SourcedModel:
    """A device's model, in words where it comes from, and the mean watts that the device reported while it measured.

    `notes` are on where it comes from, beside the model's own.
    """

    model: DeviceModel
    source: str
    notes: tuple[str, ...] = ()
    measured_w: float | None = None


def device_models(
    subjects: Sequence[Subject],
    batches: Sequence[int],
    devices: Sequence[DeviceSection],
    sources: LatencySources,
    progress: Progress,
) -> Mapping[str, SourcedModel]:
    """A model by each device's name that knows all components of the subjects at their batches.

    Devices that are here come first, so that those of their class can be estimated from them.

    Raises:
        InputError: profiles of another set-up, rows that cannot be, or a device of which nothing is known.
    """
    here = {device.name for device in local_devices()}
    needed = _components(subjects, batches)
    found: dict[str, SourcedModel] = {}
    for device in sorted(devices, key=lambda one: one.kind not in here):
        stored = _Stored(device=device, is_here=device.kind in here, sources=sources)
        rows, source, notes = stored.rows()
        run = _Measuring(device=device, sources=sources, progress=progress)
        with naming_source(source):
            missing = run.missing(needed, rows) if stored.is_here and sources.measure else ()
        watts = None
        if missing:
            measured, watts = run.measure(missing)
            source = f"{source}, the rest measured now" if rows else "measured now"
            rows = (*rows, *measured)
        estimated = _estimated(device, found)
        if rows:
            with naming_source(source):
                fitted = fit_device_model(rows, work_of, hardware=device.hardware, busy_w=_busy_w(device))
            if estimated is None:
                _require_known(needed, fitted, f"device {device.name!r}: {source}", is_measuring=sources.measure)
            model: DeviceModel = ReviewedDeviceModel(
                fitted=fitted, estimated=estimated, stand_ins=run.stand_ins(missing), power_w=_busy_w(device)
            )
        elif estimated is not None:
            model, source = estimated, "estimated"
        else:
            raise InputError(
                f"device {device.name!r}: nothing was measured on it and nothing of it is published; "
                f"{_advice(sources.profiles)}"
            )
        found[device.name] = SourcedModel(model=model, source=source, notes=notes, measured_w=watts)
    return {device.name: found[device.name] for device in devices}


def _advice(profiles: Path | None) -> str:
    if profiles is None:
        return "give --profiles, or leave out --no-measure"
    held = sorted({row.device for row in ProfileStore(profiles).load()})
    content = f"profiles of {', '.join(held)}" if held else "no profiles"
    return f"{profiles} holds {content}; leave out --no-measure, so that it is measured"


def _require_known(needed: Sequence[Component], fitted: FittedDeviceModel, where: str, *, is_measuring: bool) -> None:
    lacking = sorted({family_of(one) for one in needed} - set(fitted.families))
    if lacking:
        advice = "" if is_measuring else "; leave out --no-measure, so that they are measured"
        raise InputError(f"{where}: nothing of {', '.join(lacking)}, and nothing of the device is published{advice}")


def _components(subjects: Sequence[Subject], batches: Sequence[int]) -> tuple[Component, ...]:
    """Distinct ones, tables behind the traffic of their model."""
    return tuple(
        dict.fromkeys(
            one.component
            for subject, batch in zip(subjects, batches, strict=True)
            for one in in_context(subject.place(batch), work_of)
        )
    )


def _busy_w(device: DeviceSection) -> float | None:
    return device.power_w if device.power_w is not None else device.hardware.tdp_w


def _estimated(device: DeviceSection, found: Mapping[str, SourcedModel]) -> DeviceModel | None:
    if not device.hardware.bandwidth_bytes_per_s > 0:
        return None
    fitted = {name: one.model.fitted for name, one in found.items() if isinstance(one.model, ReviewedDeviceModel)}
    return estimated_model(device.hardware, fitted, work_of, power_w=device.power_w)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stored:
    """What was measured of a device before."""

    device: DeviceSection
    is_here: bool
    sources: LatencySources

    def rows(self) -> tuple[tuple[ComponentProfile, ...], str, tuple[str, ...]]:
        """Rows of one set-up, where they come from, and notes."""
        from profiles.fingerprint import current_fingerprint
        from profiles.setups import setup_differences

        folder = self.sources.profiles
        history = [] if folder is None else ProfileStore(folder).history()
        given = _components_of(newest_rows(history), self.device.kind)
        replaced = replaced_notes(history, self.device.kind)
        if not self.is_here:
            shipped = [] if given else _components_of(shipped_profiles(self.device.kind), self.device.kind)
            source = f"profiles in {folder}" if given else "profiles that ship with the package"
            rows = given or shipped
            newest = rows[-1].fingerprint.device_key() if rows else ""
            return (
                tuple(row for row in rows if row.fingerprint.device_key() == newest),
                source if rows else "",
                replaced,
            )
        if not given:
            return (), "", replaced
        now = current_fingerprint(self.device.kind, self.sources.threads)
        present = tuple(row for row in given if row.fingerprint.device_key() == now.device_key())
        if present:
            return present, f"profiles in {folder}", replaced
        newest_row = given[-1]
        differing = "; ".join(setup_differences(newest_row.fingerprint, now))
        if not self.sources.allow_stale:
            raise InputError(
                f"--profiles: the {len(given)} of {self.device.kind} in {folder} were measured under another set-up: "
                f"{differing}; measure again, or admit them by --allow-stale"
            )
        key = newest_row.fingerprint.device_key()
        stale = tuple(row for row in given if row.fingerprint.device_key() == key)
        return stale, f"stale profiles in {folder}", (f"stale: measured under another set-up: {differing}", *replaced)


def _components_of(rows: Sequence[ComponentProfile], kind: str) -> list[ComponentProfile]:
    return [row for row in rows if row.device == kind and row.provenance == "measured" and row.kind not in WHOLE_MODELS]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Measuring:
    """A quick sweep of what a device here lacks."""

    device: DeviceSection
    sources: LatencySources
    progress: Progress

    def missing(self, needed: Sequence[Component], rows: Sequence[ComponentProfile]) -> tuple[Component, ...]:
        """All of them where there are no rows, else those of families that have none; of stale rows none are added."""
        from profiles.fingerprint import current_fingerprint

        if not rows:
            return tuple(needed)
        if rows[0].fingerprint.device_key() != current_fingerprint(self.device.kind, self.sources.threads).device_key():
            return ()
        families = {family_of(component_of(row)) for row in rows}
        return tuple(one for one in needed if family_of(one) not in families)

    def stand_ins(self, components: Sequence[Component]) -> Mapping[Component, Component]:
        """What is measured instead of those that are too large."""
        budget = min(self.sources.table_budget_bytes, int(_MEMORY_SHARE * self.device.hardware.memory_bytes))
        pairs = ((one, cut_to_fit(one, work_of, budget)) for one in components)
        return {one: other for one, other in pairs if other is not one}

    def measure(self, components: Sequence[Component]) -> tuple[tuple[ComponentProfile, ...], float | None]:
        """Rows, and mean watts where the device reports them."""
        if self.sources.store is not None:
            return self._measure_into(self.sources.store, components)
        with TemporaryDirectory() as folder:
            return self._measure_into(Path(folder), components)

    def _measure_into(
        self, folder: Path, components: Sequence[Component]
    ) -> tuple[tuple[ComponentProfile, ...], float | None]:
        from profiles.executors.in_process import InProcessExecutor
        from profiles.sweep import sweep

        stand_ins = self.stand_ins(components)
        wanted = tuple(dict.fromkeys(stand_ins.get(one, one) for one in components))
        store, executor = ProfileStore(folder), InProcessExecutor()
        options = SweepOptions(
            threads=self.sources.threads, seconds_per_visit=self.sources.seconds_per_visit, retakes=2
        )
        title = f"measuring {len(wanted)} components on {self.device.kind}"
        meter = PowerMeter("cpu" if self.device.kind == LOCAL_CPU else "cuda")
        with self.progress.stage(title, len(wanted)) as stage, meter:

            def tell(now: "SweepProgress") -> None:
                stage.update(now.done, now.total, f"{now.visits_left} visits left")

            result = sweep(
                wanted,
                RecommendationProvider(),
                store,
                device=self.device.kind,
                executor=executor,
                options=options,
                progress=tell,
            )
        key = executor.fingerprint(self.device.kind, self.sources.threads).device_key()
        hashes = {one.content_hash(key) for one in wanted}
        rows = [row for row in store.load() if row.content_hash in hashes and row.provenance == "measured"]
        if not rows:
            reason = result.skipped[0][1] if result.skipped else "the sweep gave no row"
            raise InputError(
                f"device {self.device.name!r}: none of {len(wanted)} components could be measured: {reason}"
            )
        return tuple(rows), meter.watts if result.measured else None
