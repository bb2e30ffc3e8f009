"""What drives a component's cost, as numbers: batch, shape, work.

Array suffixes: N components, D dimensions, F features.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.estimates import Floats
from profiles.component import Component, Work
from profiles.errors import InputError

__all__ = [
    "BYTES_PER_MIB",
    "CostDrivers",
    "WorkFormula",
    "dimensions_of",
    "drivers_of",
    "family_of",
    "places_by_family",
]

WorkFormula = Callable[[Component], Work]
BYTES_PER_MIB = 2**20
# Ids up to here are hashed modulo 2**31 - 1; wider ranges take the slower arithmetic modulo 2**61 - 1.
_WIDEST_FAST_RANGE = 2**31 - 1
# Numbers in the widest unrolled vector loop, and in a register tile's row.
_WIDEST_VECTOR = 32
_TILE = 16
# Of the products' outputs, and what is copied at once.
_OUTPUTS = ("out_features", "vectors")
_TILES = (4, 8, 16, 24)
_VECTOR = 8
_TABLE_KINDS = frozenset({"embedding", "embedding_group"})


def family_of(component: Component) -> str:
    """Components that one kernel serves: the kind, its text values, and dtype and pass where they are not the usual.

    `elementwise(relu)` and `elementwise(mish)` are two families; sizes never split one.
    """
    words = [value for _, value in component.shape if isinstance(value, str)]
    words += [word for word in (component.dtype, component.phase) if word not in ("float32", "forward")]
    return f"{component.kind}({', '.join(words)})" if words else component.kind


def places_by_family(components: Sequence[Component]) -> dict[str, list[int]]:
    """Where the components of each family stand, families in order of their names."""
    places: dict[str, list[int]] = {}
    for i, component in enumerate(components):
        places.setdefault(family_of(component), []).append(i)
    return dict(sorted(places.items()))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CostDrivers:
    """Dimensions (`batch`, then the numeric shape values by name) and work of N components of one family."""

    names: tuple[str, ...]
    dimensions_ND: Floats
    flops_N: Floats
    bytes_N: Floats
    parameter_bytes_N: Floats

    @property
    def batch(self) -> Floats:
        """[N]: batch sizes."""
        return self.dimensions_ND[:, 0]

    @property
    def ids_N(self) -> Floats:  # noqa: N802 (a shape suffix)
        """[N]: ids looked up: bags times pooling times tables, where the components have these."""
        found = self.batch
        for name in ("pooling", "tables"):
            if name in self.names:
                found = found * self.dimensions_ND[:, self.names.index(name)]
        return found

    def size_of(self, name: str) -> Floats:
        """[N]: one of the dimensions."""
        sizes: Floats = self.dimensions_ND[:, self.names.index(name)]
        return sizes

    def take(self, rows: NDArray[np.int64]) -> "CostDrivers":
        """The drivers of some of the components."""
        return CostDrivers(
            names=self.names,
            dimensions_ND=self.dimensions_ND[rows],
            flops_N=self.flops_N[rows],
            bytes_N=self.bytes_N[rows],
            parameter_bytes_N=self.parameter_bytes_N[rows],
        )

    def log_dimensions(self) -> Floats:
        """[N, D]: log2(1 + dimension), in which a distance of 1 is about a doubling."""
        return np.log2(1 + self.dimensions_ND)

    def log_work(self) -> Floats:
        """[N, 3]: log2(1 + x) of FLOPs, of bytes, which are also the working set, and of parameter bytes."""
        return np.log2(1 + np.column_stack((self.flops_N, self.bytes_N, self.parameter_bytes_N)))

    def features(self) -> Floats:
        """[N, F]: logs of the dimensions and of the work, of FLOPs per byte, and how dimensions fit vectors and tiles.

        Per dimension these are the powers of two that divide it, up to 32, and the share that padding to 16 adds; of a
        product's outputs also the shares left after tiles, of a concatenation's parts those left after vectors.
        """
        work = self.log_work()
        whole = np.maximum(self.dimensions_ND, 1).astype(np.int64)
        divisors = np.log2(np.minimum(whole & -whole, _WIDEST_VECTOR))
        padding = -(-whole // _TILE) * _TILE / whole - 1
        columns = (self.log_dimensions(), work, work[:, 0] - work[:, 1], *self._left(), divisors, padding)
        return np.column_stack(columns)

    def _left(self) -> list[Floats]:
        outputs = [np.maximum(self.size_of(name), 1.0) for name in _OUTPUTS if name in self.names]
        left: list[Floats] = [sizes % tile / sizes for sizes in outputs for tile in _TILES]
        if {"parts", "width"} <= set(self.names):
            part = np.floor(self.size_of("width") / self.size_of("parts"))
            left += [np.log2(1 + part), part % _VECTOR / part]
        return left


def drivers_of(components: Sequence[Component], work: WorkFormula, names: Sequence[str] | None = None) -> CostDrivers:
    """The drivers of components of one family; `names` are the dimensions that each must have.

    Raises:
        InputError: a component lacks one of the dimensions, or has another.
    """
    shapes = [{"batch": float(component.batch), **dimensions_of(component)} for component in components]
    wanted = tuple(names) if names is not None else tuple(shapes[0]) if shapes else ("batch",)
    for component, shape in zip(components, shapes, strict=True):
        if tuple(shape) != wanted:
            raise InputError(
                f"component {family_of(component)}: needs the dimensions {', '.join(wanted)}, "
                f"but got {', '.join(shape)} in {component.spec()}"
            )
    works = [work(component) for component in components]
    return CostDrivers(
        names=wanted,
        dimensions_ND=np.array([list(shape.values()) for shape in shapes], dtype=np.float64).reshape(-1, len(wanted)),
        flops_N=np.array([one.flops for one in works], dtype=np.float64),
        bytes_N=np.array([one.bytes_moved for one in works], dtype=np.float64),
        parameter_bytes_N=np.array([one.parameter_bytes for one in works], dtype=np.float64),
    )


def dimensions_of(component: Component) -> dict[str, float]:
    """The numbers besides the batch that the cost depends on: components alike in these are one to the model.

    Hashing an id costs the same whatever the range of ids, but for the prime that the range needs: `wide_ids` is 1
    where that is the large one. A table whose shape does not say how many bytes of other activations pass between two
    of its runs is one that has the caches to itself: `context_bytes` is 0.

    Raises:
        InputError: an encoder whose shape does not say how many ids it knows.
    """
    sizes = {name: float(value) for name, value in component.shape if not isinstance(value, str)}
    if component.kind in _TABLE_KINDS:
        sizes = dict(sorted({"context_bytes": 0.0, **sizes}.items()))
    if component.kind == "dhe_encoder":
        if "rows" not in sizes:
            raise InputError(f"component {component.kind!r}: shape lacks 'rows' in {component.spec()}")
        sizes["wide_ids"] = float(sizes.pop("rows") > _WIDEST_FAST_RANGE)
    return sizes
