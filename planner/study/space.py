"""`[search.space]`: what a candidate may choose, for the whole model and for groups of its features."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from profiles.edge import STRICT
from profiles.errors import InputError
from representations.assignment import Representation

__all__ = ["CardinalityBounds", "GroupRepresentation", "GroupSection", "KeptBy", "SpaceSection", "TableRows"]

GroupRepresentation = Literal["table", "dhe", "hybrid", "quotient-remainder", "mixed-dimension", "tensor-train"]
KeptBy = Literal["hash", "frequency"]
TableRows = Literal["float32", "float16", "int8"]
# Offered by no default: what is not there leaves the study's [model], device and batch as they are.
_MODEL_AXES = ("interaction", "bottom_width", "bottom_depth", "top_width", "top_depth", "device", "batch")
# Keys that came after the first files: one at its default is not written, so that those files stay as they were.
_LATER = ("groups", *_MODEL_AXES)
_NAMES = frozenset({"representation", "kept_by", "dtype", "interaction", "device"})


@dataclass(frozen=True, kw_only=True, slots=True)
class CardinalityBounds:
    """Features of `min` to `max` ids, both included; None leaves that side open."""

    __pydantic_config__: ClassVar = STRICT
    min: int | None = None
    max: int | None = None

    def __post_init__(self) -> None:
        for name in ("min", "max"):
            bound = getattr(self, name)
            if bound is not None and bound < 1:
                raise InputError(f"cardinality.{name}: must be >= 1, but got {bound}")
        if self.min is None and self.max is None:
            raise InputError("cardinality: needs min, max or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise InputError(f"cardinality: min must be <= max, but got {self.min} > {self.max}")

    def holds(self, cardinality: int) -> bool:
        """Whether so many ids are within."""
        return (self.min is None or cardinality >= self.min) and (self.max is None or cardinality <= self.max)


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupSection:
    """Choices of some features: those of these names, or of so many ids; without either, of all that are left.

    With `each` every feature chooses for itself, else they choose together. What is left out is as in the space.
    `dim` may be given only where the dot interaction is not offered, as that needs one width for all. A hybrid is `dim`
    wide in all, half table and half DHE, so that it goes with the others. `kept_rows`: the share of its rows that a
    table has; ids beyond share rows by `hash`, or one row where the most frequent are kept. `narrower`: by how much a
    mixed-dimension table is narrower than what comes out.
    """

    __pydantic_config__: ClassVar = STRICT
    name: str = ""
    features: tuple[str, ...] = ()
    cardinality: CardinalityBounds | None = None
    each: bool = False
    representation: tuple[GroupRepresentation, ...] = ("table", "dhe")
    dim: tuple[int, ...] | None = None
    kept_rows: tuple[float, ...] = (1.0,)
    kept_by: tuple[KeptBy, ...] = ("hash",)
    dtype: tuple[TableRows, ...] = ("float32",)
    dhe_k: tuple[int, ...] | None = None
    dhe_width: tuple[int, ...] | None = None
    dhe_depth: tuple[int, ...] | None = None
    qr_collisions: tuple[int, ...] | None = None
    tt_rank: tuple[int, ...] | None = None
    narrower: tuple[int, ...] = (2, 4)

    def __post_init__(self) -> None:
        if self.features and self.cardinality is not None:
            raise InputError("features: give names or a cardinality, not both")
        if "." in self.name:
            raise InputError(f"name: must not hold a dot, but got {self.name!r}")
        for name in _offering(self):
            if getattr(self, name) is not None:
                _check_offered(name, getattr(self, name))
        if not all(0 < share <= 1 for share in self.kept_rows):
            raise InputError(f"kept_rows: must be shares in (0, 1], but got {list(self.kept_rows)}")
        if min(self.narrower) < 2:
            raise InputError(f"narrower: must be >= 2, but got {list(self.narrower)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class SpaceSection:
    """The choices of a candidate; each is drawn only where it matters (a table has no `dhe_k`).

    `select_largest`: under `select`, how many of the features with the most ids are DHE (MP-Rec's characterisation
    takes 3); the others stay tables. `qr_collisions`, `tt_rank` and `robe_compression` are those of the compressed
    representations `quotient-remainder`, `tensor-train` and `robe`.
    With `groups`, features choose by group: `representation` and what is only of whole models plays no part, `dim` is
    the width of all embeddings, and the other numbers are what groups offer that say nothing of them.
    Widths and depths of MLPs count hidden layers (a depth of 2 and a width of 64: two of 64 units), `interaction`,
    `device` and `batch` what candidates are judged with; what is empty is as in the rest of the study.
    """

    __pydantic_config__: ClassVar = STRICT
    representation: tuple[Representation, ...] = ("table", "dhe", "select", "hybrid")
    dim: tuple[int, ...] = (4, 8, 16)
    dhe_k: tuple[int, ...] = (16, 64, 256)
    dhe_width: tuple[int, ...] = (32, 64)
    dhe_depth: tuple[int, ...] = (1,)
    select_largest: tuple[int, ...] = (3,)
    qr_collisions: tuple[int, ...] = (4,)
    tt_rank: tuple[int, ...] = (16,)
    robe_compression: tuple[int, ...] = (10,)
    groups: tuple[GroupSection, ...] = ()
    interaction: tuple[Literal["dot", "concat"], ...] = ()
    bottom_width: tuple[int, ...] = ()
    bottom_depth: tuple[int, ...] = ()
    top_width: tuple[int, ...] = ()
    top_depth: tuple[int, ...] = ()
    device: tuple[str, ...] = ()
    batch: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in _offering(self):
            if getattr(self, name) or name not in _MODEL_AXES:
                _check_offered(name, getattr(self, name))
        for stem in ("bottom", "top"):
            if bool(getattr(self, f"{stem}_width")) is not bool(getattr(self, f"{stem}_depth")):
                raise InputError(f"{stem}_width, {stem}_depth: give both, or neither for the MLP of [model]")
        names = [group.name for group in self.groups if group.name]
        if doubled := {name for name in names if names.count(name) > 1}:
            raise InputError(f"groups: names must differ, but {sorted(doubled)} come more than once")

    @property
    def is_flat(self) -> bool:
        """Whether one representation is chosen for the whole model and nothing else of it."""
        return not self.groups and not self.model_axes

    @property
    def model_axes(self) -> dict[str, tuple[str | int, ...]]:
        """What is offered beside the embeddings, by name."""
        return {name: getattr(self, name) for name in _MODEL_AXES if getattr(self, name)}

    def to_object(self) -> dict[str, Any]:
        """A plain object; a later key at its default is left out, so that earlier files compare equal."""
        body = {part.name: getattr(self, part.name) for part in fields(self)}
        body["groups"] = [_group_object(group) for group in self.groups]
        return {name: value for name, value in body.items() if name not in _LATER or value}


def _group_object(group: GroupSection) -> dict[str, Any]:
    body: dict[str, Any] = {part.name: getattr(group, part.name) for part in fields(group)}
    if group.cardinality is not None:
        body["cardinality"] = {"min": group.cardinality.min, "max": group.cardinality.max}
    return body


def _offering(section: Any) -> list[str]:
    """The fields that offer choices."""
    others = {"name", "features", "cardinality", "each", "groups"}
    return [part.name for part in fields(section) if part.name not in others]


def _check_offered(name: str, choices: tuple[Any, ...]) -> None:
    if not choices:
        raise InputError(f"{name}: must offer at least one choice")
    if len(set(choices)) < len(choices):
        raise InputError(f"{name}: each choice once, but got {list(choices)}")
    if name not in _NAMES and name != "kept_rows" and min(choices) < 1:
        raise InputError(f"{name}: must be >= 1, but got {list(choices)}")
