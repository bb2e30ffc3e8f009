"""The noise floor: how far a measurement is from itself. No model can be held to less."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.cost_model.estimates import Floats
from planner.cost_model.training_rows import TrainingRows
from profiles.agreement import agreeing
from profiles.component import Component
from profiles.errors import MeasurementError
from profiles.executors.protocol import Executor
from profiles.hardware import LOCAL_CPU
from profiles.providers.protocol import ComponentProvider
from profiles.records import Latency
from profiles.sweep_options import SweepOptions
from profiles.timing import summarize
from profiles.visits import Visit

__all__ = ["NoiseFloor", "Remeasure", "noise_floor", "paired_floor", "paired_labels", "remeasure_with"]

Remeasure = Callable[[Sequence[Component]], Sequence[Latency | None]]
_SUBSET = 24
# A few components are visited so quickly that all of their visits would lie in one slow spell.
_LEAST_GAP_S = 0.4


@dataclass(frozen=True, kw_only=True, slots=True)
class NoiseFloor:
    """Relative differences as fractions, over `rows` components; `source` says of what.

    `bias` is the median signed one, > 0 where the second measurement was slower; None where none came second.
    """

    median: float
    p90: float
    rows: int
    source: str
    mean: float
    bias: float | None = None


def noise_floor(
    rows: TrainingRows, remeasure: Remeasure | None = None, *, seed: int, subset: int = _SUBSET
) -> NoiseFloor:
    """Labels against a second measurement of a seeded subset; without one, half of each row's interquartile range.

    Raises:
        MeasurementError: the second measurement gave nothing.
    """
    if remeasure is None:
        return _summary(rows.relative_iqr / 2, "half the interquartile range of single calls")
    count = min(subset, len(rows.components))
    chosen = np.sort(np.random.default_rng(seed).choice(len(rows.components), count, replace=False))
    again = remeasure([rows.components[i] for i in chosen.tolist()])
    pairs = [(rows.label_ms[i], one.p25_ms) for i, one in zip(chosen.tolist(), again, strict=True) if one is not None]
    if not pairs:
        raise MeasurementError(f"noise floor: none of {count} components could be measured again")
    signed = np.array([second / first - 1 for first, second in pairs])
    return replace(_summary(np.abs(signed), "a second measurement"), bias=float(np.median(signed)))


def paired_floor(visits: Iterable[Visit], options: SweepOptions) -> NoiseFloor:
    """How far the two labels of each component are apart, see `paired_labels`.

    Interleaved with the measurement itself, so that slow spells of the machine meet both alike. Labels of the sweep
    have twice as many visits to choose from, and are somewhat better than this.

    Raises:
        MeasurementError: no component has two visits.
    """
    pairs = np.array(list(paired_labels(visits, options).values()))
    return _summary(np.abs(pairs[:, 1] / pairs[:, 0] - 1), "alternate visits of the same sweep")


def paired_labels(visits: Iterable[Visit], options: SweepOptions) -> dict[str, tuple[float, float]]:
    """By content hash the labels in ms of every other visit, in the order of time, and of those in between.

    Each half is labelled as the sweep would have labelled it: by its visits up to the one after which `options` want no
    more, or by all that it has.

    Raises:
        MeasurementError: no component has two visits.
    """
    made: dict[str, list[Visit]] = {}
    for visit in _judged(tuple(visits), options):
        if visit.warm:
            made.setdefault(visit.content_hash, []).append(visit)
    pairs = {name: sorted(own, key=lambda visit: visit.timestamp) for name, own in made.items() if len(own) > 1}
    if not pairs:
        raise MeasurementError(f"noise floor: none of {len(made)} components was visited twice")
    return {name: (_label(own[::2], options), _label(own[1::2], options)) for name, own in pairs.items()}


def _judged(visits: Sequence[Visit], options: SweepOptions) -> Sequence[Visit]:
    """By the quietest core of them all: when they were made, it may not have been seen yet."""
    readings_us = [visit.core_us for visit in visits if visit.core_us is not None]
    if options.quiet_core is None or not readings_us:
        return visits
    return [visit.judged(min(readings_us) * (1 + options.quiet_core)) for visit in visits]


def _label(visits: Sequence[Visit], options: SweepOptions) -> float:
    enough = next((count for count in range(1, len(visits)) if not options.warm_left(visits[:count])), len(visits))
    clean = [visit for visit in visits[:enough] if not visit.is_contended]
    is_quiet = options.quiet_core is not None and len(clean) > 1
    samples = [visit.warm for visit in (clean if is_quiet else visits[:enough])]
    if options.agreement is not None and not is_quiet:
        samples = [samples[place] for place in agreeing(samples, options.agreement)]
    return summarize(samples).p25_ms


def remeasure_with(
    provider: ComponentProvider, executor: Executor, options: SweepOptions, device: str = LOCAL_CPU
) -> Remeasure:
    """Measures components as a sweep does, rounds of visits apart in time, but stores nothing."""
    options = replace(options, least_gap_s=max(options.least_gap_s, _LEAST_GAP_S))

    def remeasure(components: Sequence[Component]) -> list[Latency | None]:
        size = options.group_size
        groups = [tuple(components[i : i + size]) for i in range(0, len(components), size)]
        rows = executor.measure(groups, provider, device, options)
        latencies = {(row.spec, row.batch): row.warm for row in rows}
        return [latencies.get((component.spec(), component.batch)) for component in components]

    return remeasure


def _summary(differences: Floats, source: str) -> NoiseFloor:
    return NoiseFloor(
        median=float(np.median(differences)),
        p90=float(np.quantile(differences, 0.9)),
        rows=len(differences),
        source=source,
        mean=float(np.mean(differences)),
    )
