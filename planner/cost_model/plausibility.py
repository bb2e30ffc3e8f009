"""What rows cannot be true, or need a warning: units that are off, rows far from all others, sizes that never vary."""

from collections.abc import Mapping

import numpy as np

from planner.cost_model.family import FEWEST_FOR_RESIDUAL, FamilyModel
from planner.cost_model.features import WorkFormula, family_of
from planner.cost_model.roofline import PhysicalLimits
from planner.cost_model.training_rows import TrainingRows
from profiles.errors import InputError
from profiles.units import MS_PER_S

__all__ = ["plausibility_notes", "require_possible"]

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


def plausibility_notes(rows: TrainingRows, work: WorkFormula, families: Mapping[str, FamilyModel]) -> tuple[str, ...]:
    """Warnings with their numbers; none where all rows look sound."""
    return (*_slow(rows, work), *_far_off(families), *_constant(families), *_unmoved(rows))


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


def _far_off(families: Mapping[str, FamilyModel]) -> list[str]:
    counts = {
        name: int(np.sum(np.abs(family.core.log_ratio_N) > np.log(_FAR_OFF))) for name, family in families.items()
    }
    found = ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()) if count)
    return [f"rows more than {_FAR_OFF:g} times off their family's roofline: {found}"] if found else []


def _unmoved(rows: TrainingRows) -> list[str]:
    """Families whose latency is the same at every size, as where a column was filled in or cut off."""
    latencies: dict[str, list[float]] = {}
    for component, label_ms in zip(rows.components, rows.label_ms.tolist(), strict=True):
        latencies.setdefault(family_of(component), []).append(label_ms)
    found = [
        name for name, own in sorted(latencies.items()) if len(own) >= FEWEST_FOR_RESIDUAL and max(own) == min(own)
    ]
    return [f"one latency at every size: {', '.join(found)}: is it a measurement?"] if found else []


def _constant(families: Mapping[str, FamilyModel]) -> list[str]:
    found = []
    for name, family in sorted(families.items()):
        core = family.core
        spans = (core.highest_F - core.lowest_F)[: len(core.names)]
        same = [size for size, span in zip(core.names, spans.tolist(), strict=True) if span == 0]
        if same and len(core.log_ratio_N) >= FEWEST_FOR_RESIDUAL:
            found.append(f"{name} ({', '.join(same)})")
    return [f"measured at one value alone, so that others are extrapolated: {'; '.join(found)}"] if found else []
