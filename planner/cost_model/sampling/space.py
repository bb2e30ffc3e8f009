"""The components of one family among which a sweep may choose: sizes along dimensions, and what bounds them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from planner.cost_model.features import WorkFormula, family_of
from profiles.component import Component, Scalar, make_component
from profiles.errors import InputError

__all__ = ["BATCH", "Dimension", "SamplingSpace", "natural_sizes"]

BATCH = "batch"
Size = int | float
# Draws per component that is found, before a space counts as exhausted.
_TRIES = 64


def natural_sizes(low: int, high: int) -> tuple[int, ...]:
    """Sizes as models have them, about three per doubling: powers of two, halfway between them, and odd ones.

    Kernels are fast at multiples of a vector's length and slow beside them: both kinds must be learned from.
    """
    if not 1 <= low <= high:
        raise InputError(f"sizes: must be 1 <= low <= high, but got {low} and {high}")
    powers = [2**exponent for exponent in range(high.bit_length())]
    sizes = {low, high, *powers, *(3 * power // 2 for power in powers), *(power + power // 4 + 1 for power in powers)}
    return tuple(sorted(size for size in sizes if low <= size <= high))


@dataclass(frozen=True, kw_only=True, slots=True)
class Dimension:
    """The values that one number of a component may take, ascending: the batch, or a shape value by its name."""

    name: str
    values: tuple[Size, ...]

    def __post_init__(self) -> None:
        if not self.values or list(self.values) != sorted(set(self.values)):
            raise InputError(f"dimension {self.name!r}: must have distinct values in order, but got {self.values}")

    def at(self, share: float) -> Size:
        """The value at a share in [0, 1) of the list."""
        return self.values[min(int(share * len(self.values)), len(self.values) - 1)]


@dataclass(frozen=True, kw_only=True, slots=True)
class SamplingSpace:
    """A family's dimensions, the batch among them, and its text values; components beyond the bounds are left out.

    `known` are components that will surely be asked for: they are the first to be measured where the model is unsure.
    """

    kind: str
    dimensions: tuple[Dimension, ...]
    text: tuple[tuple[str, str], ...] = ()
    dtype: str = "float32"
    phase: str = "forward"
    known: tuple[Component, ...] = ()
    most_flops: float = 2e9
    most_bytes: float = 5e8

    def __post_init__(self) -> None:
        names = [dimension.name for dimension in self.dimensions]
        if len(set(names)) < len(names) or BATCH not in names:
            raise InputError(f"space of {self.kind!r}: must have a batch and each dimension once, but got {names}")

    @property
    def family(self) -> str:
        """The family that all its components are of."""
        return family_of(self._component([dimension.values[0] for dimension in self.dimensions]))

    def draws(self, work: WorkFormula, *, seed: int) -> Iterator[Component]:
        """Distinct components within the bounds, filling the space evenly: a scrambled Sobol sequence.

        Ends where hardly a further one is to be found.
        """
        from scipy.stats import qmc

        sequence = qmc.Sobol(len(self.dimensions), rng=np.random.default_rng(seed))
        seen: set[Component] = set()
        while True:
            found = 0
            for shares in sequence.random(_TRIES):
                component = self._component([d.at(share) for d, share in zip(self.dimensions, shares, strict=True)])
                if component not in seen and self.allows(component, work):
                    seen.add(component)
                    found += 1
                    yield component
            if not found:
                return

    def corners(self, work: WorkFormula) -> tuple[Component, ...]:
        """Components at the ends of every dimension, so that what lies between is no extrapolation.

        They are the known ones where there are any; else each end with the other dimensions at a quarter of their
        values, so that the largest sizes do not come all at once.
        """
        if self.known:
            ends = [end for d in self.dimensions for end in self._ends(d)]
        else:
            middle = [dimension.at(0.25) for dimension in self.dimensions]
            ends = [
                self._component([*middle[:place], value, *middle[place + 1 :]])
                for place, dimension in enumerate(self.dimensions)
                for value in (dimension.values[0], dimension.values[-1])
            ]
        return tuple(one for one in dict.fromkeys(ends) if self.allows(one, work))

    def allows(self, component: Component, work: WorkFormula) -> bool:
        """Whether it exists and is small enough to be measured often; known ones are, whatever their size."""
        if component in self.known:
            return True
        shape = dict(component.shape)
        if float(shape.get("tables", 1)) > float(shape.get("rows", np.inf)):
            return False
        if component.kind in ("concat", "interaction") and _parts(shape) > float(shape.get("width", np.inf)):
            return False
        try:
            done = work(component)
        except InputError:
            # Some values do not go together, such as a back end and a width.
            return False
        return done.flops <= self.most_flops and done.bytes_moved + done.parameter_bytes <= self.most_bytes

    def _ends(self, dimension: Dimension) -> tuple[Component, Component]:
        def size(component: Component) -> float:
            is_batch = dimension.name == BATCH
            return float(component.batch if is_batch else dict(component.shape)[dimension.name])

        return min(self.known, key=size), max(self.known, key=size)

    def _component(self, values: Sequence[Size]) -> Component:
        sizes = {dimension.name: value for dimension, value in zip(self.dimensions, values, strict=True)}
        batch = int(sizes.pop(BATCH))
        shape: dict[str, Scalar] = {**sizes, **dict(self.text)}
        return make_component(self.kind, batch, shape, dtype=self.dtype, phase=self.phase)


def _parts(shape: dict[str, Scalar]) -> float:
    return float(shape.get("parts", shape.get("vectors", 1)))
