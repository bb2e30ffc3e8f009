"""What rows cannot be true, or need a warning: units that are off, rows far from all others, sizes that never vary."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.cost_model.core_model import FEWEST_FOR_RESIDUAL
from planner.cost_model.estimates import Floats
from planner.cost_model.features import CostDrivers, WorkFormula, drivers_of, family_of, places_by_family
from planner.cost_model.one_thread import one_thread
from planner.cost_model.residual import weights_of
from planner.cost_model.roofline import PhysicalLimits, fit_roofline
from planner.cost_model.training_rows import TrainingRows
from profiles.errors import InputError
from profiles.units import MS_PER_S

__all__ = ["fit_notes", "plausibility_notes", "require_possible", "row_notes"]

# No call of a module from Python, and no launch of a kernel, is as short.
_LEAST_CALL_MS = 1e-4
# Slower than a call of a millisecond for each table of a group, and than a device of such rates: 20 times below any
# processor's one core.
_SLOWEST_CALL_MS = 1.0
_SLOWEST_RATE = 1e8
_FAR_OFF = 7.0


def require_possible(rows: TrainingRows, work: WorkFormula, limits: PhysicalLimits) -> None:
    """Refuse latencies that no device of the kind could reach: seconds or minutes taken for milliseconds, for example.

    Raises:
        InputError: more FLOP/s or bytes/s than the limits, or less than a call takes; names the first such row.
    """
    for component, label_ms in zip(rows.components, rows.label_ms.tolist(), strict=True):
        done = work(component)
        where = f"component {family_of(component)} at batch {component.batch}: {label_ms:.3g} ms"
        rates = (("FLOP/s", done.flops, limits.flops_per_s), ("bytes/s", done.bytes_moved, limits.bytes_per_s))
        for unit, amount, most in rates:
            rate = amount / label_ms * MS_PER_S
            if rate > most:
                reach = f"beyond the {most:.3g} that {rows.fingerprint.device} can reach"
                raise InputError(f"{where} would be {rate:.3g} {unit}, {reach}")
        if label_ms < _LEAST_CALL_MS:
            raise InputError(f"{where} is less than the {_LEAST_CALL_MS:g} ms that any call takes: is it in ms?")


def plausibility_notes(rows: TrainingRows, work: WorkFormula, limits: PhysicalLimits) -> tuple[str, ...]:
    """Warnings with their numbers; none where all rows look sound."""
    return (*row_notes(rows, work, limits), *fit_notes(rows, work))


def row_notes(rows: TrainingRows, work: WorkFormula, limits: PhysicalLimits) -> tuple[str, ...]:
    """Those on latencies that look wrong, whatever they are used for."""
    return (*_slow(rows, work), *_far_off(_families(rows, work), limits))


def fit_notes(rows: TrainingRows, work: WorkFormula) -> tuple[str, ...]:
    """Those on what the rows lack for a fit."""
    families = _families(rows, work)
    enough = [one for one in families if len(one.label_ms) >= FEWEST_FOR_RESIDUAL]
    scarce = [one for one in families if len(one.label_ms) < FEWEST_FOR_RESIDUAL]
    return (*_constant(enough), *_unmoved(enough), *_scarce(scarce))


def _families(rows: TrainingRows, work: WorkFormula) -> list["_FamilyRows"]:
    return [
        _FamilyRows(name, drivers_of([rows.components[i] for i in at], work), rows.label_ms[at], rows.doubt[at])
        for name, at in places_by_family(rows.components).items()
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _FamilyRows:
    name: str
    drivers: CostDrivers
    label_ms: Floats
    doubt: Floats


def _slow(rows: TrainingRows, work: WorkFormula) -> list[str]:
    works = [work(component) for component in rows.components]
    amount = np.array([max(one.flops, one.bytes_moved) for one in works])
    calls = np.array([float(dict(component.shape).get("tables", 1)) for component in rows.components])
    slowest_ms = _SLOWEST_CALL_MS * calls + amount / _SLOWEST_RATE * MS_PER_S
    count = int(np.sum(rows.label_ms > slowest_ms))
    if not count:
        return []
    worst = float(np.max(rows.label_ms / slowest_ms))
    return [
        f"{count} of {len(amount)} rows are slower than any device should be, up to {worst:.3g} times: are they in ms?"
    ]


def _far_off(families: Sequence[_FamilyRows], limits: PhysicalLimits) -> list[str]:
    with one_thread("scipy.optimize"):
        counts = {one.name: int(np.sum(np.abs(_log_ratio(one, limits)) > np.log(_FAR_OFF))) for one in families}
    found = [f"{name} ({count})" for name, count in counts.items() if count]
    return [f"rows more than {_FAR_OFF:g} times off their family's roofline: {', '.join(found)}"] if found else []


def _log_ratio(one: _FamilyRows, limits: PhysicalLimits) -> Floats:
    roofline = fit_roofline(one.drivers, one.label_ms, limits, weights_N=weights_of(one.doubt))
    ratio: Floats = np.log(one.label_ms / roofline.predict(one.drivers))
    return ratio


def _constant(families: Sequence[_FamilyRows]) -> list[str]:
    found = []
    for one in families:
        is_same = np.ptp(one.drivers.dimensions_ND, axis=0) == 0
        same = [size for size, is_one in zip(one.drivers.names, is_same.tolist(), strict=True) if is_one]
        found += [f"{one.name} ({', '.join(same)})"] if same else []
    return [f"measured at one value alone, so that others are extrapolated: {'; '.join(found)}"] if found else []


def _unmoved(families: Sequence[_FamilyRows]) -> list[str]:
    """Families whose latency is the same at every size, as where a column was filled in or cut off."""
    found = ", ".join(one.name for one in families if np.ptp(one.label_ms) == 0)
    return [f"one latency at every size: {found}: is it a measurement?"] if found else []


def _scarce(families: Sequence[_FamilyRows]) -> list[str]:
    found = ", ".join(f"{one.name} ({len(one.label_ms)})" for one in families)
    return [f"fewer than {FEWEST_FOR_RESIDUAL} rows, so a roofline alone: {found}"] if found else []
