"""The spaces that a study's own components span."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from planner.cost_model.features import WorkFormula, family_of
from planner.cost_model.sampling.space import BATCH, Dimension, SamplingSpace, Size, natural_sizes
from profiles.component import Component

__all__ = ["spaces_of"]


def spaces_of(components: Iterable[Component], work: WorkFormula) -> tuple[SamplingSpace, ...]:
    """One space per family, in order of its name, that holds all its components and every size they have.

    Batches lie anywhere between the least and the largest; of other dimensions those values that occur, in all
    combinations no larger than the largest component.
    """
    families: dict[str, list[Component]] = defaultdict(list)
    for component in dict.fromkeys(components):
        families[_key(component)].append(component)
    return tuple(_space(family, work) for _, family in sorted(families.items()))


def _key(component: Component) -> str:
    # Components with different numbers are families of their own to a sweep, though not to the cost model.
    return f"{family_of(component)} {[name for name, value in component.shape if not isinstance(value, str)]}"


def _space(family: Sequence[Component], work: WorkFormula) -> SamplingSpace:
    first = family[0]
    works = [work(component) for component in family]
    batches = [component.batch for component in family]
    names = [name for name, value in first.shape if not isinstance(value, str)]
    shapes = [dict(component.shape) for component in family]
    sizes = {name: sorted({_number(shape[name]) for shape in shapes}) for name in names}
    return SamplingSpace(
        kind=first.kind,
        dimensions=(
            Dimension(name=BATCH, values=natural_sizes(min(batches), max(batches))),
            *(Dimension(name=name, values=tuple(values)) for name, values in sizes.items()),
        ),
        text=tuple((name, value) for name, value in first.shape if isinstance(value, str)),
        dtype=first.dtype,
        phase=first.phase,
        known=tuple(family),
        most_flops=max(one.flops for one in works),
        most_bytes=max(one.bytes_moved + one.parameter_bytes for one in works),
    )


def _number(value: Size | str) -> Size:
    if isinstance(value, str):
        raise TypeError(value)
    return value
