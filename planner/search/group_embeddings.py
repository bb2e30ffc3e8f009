"""Groups of features: who is in which, what each may choose, and the embedding that a choice makes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from planner.search.factors import Axis, Choice, Choices, Factor
from planner.study import GroupSection, SpaceSection
from profiles.errors import InputError, UnknownNameError
from representations.specs import (
    DheSpec,
    EmbeddingSpec,
    Feature,
    HybridSpec,
    KeptBy,
    MixedDimensionSpec,
    QuotientRemainderSpec,
    ReducedTableSpec,
    TableSpec,
    TensorTrainSpec,
)

__all__ = ["FeatureGroup", "feature_groups", "group_embedding"]

_REST = "rest"


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureGroup:
    """Features, by their places in the model, that choose together, and among what."""

    factor: Factor
    members: tuple[int, ...]


def feature_groups(space: SpaceSection, features: Sequence[Feature]) -> tuple[FeatureGroup, ...]:
    """The groups of a space in its order; a feature is in the first that takes it, and what none takes in one more.

    Raises:
        InputError: a group that takes no feature.
        UnknownNameError: a feature that is not there.
    """
    left = dict(enumerate(features))
    groups: list[FeatureGroup] = []
    for i, section in enumerate(space.groups):
        where = f"search.space.groups[{i}]"
        taken = _members(section, left, features, where)
        left = {place: feature for place, feature in left.items() if place not in taken}
        axes = group_axes(space, section)
        name = section.name or f"group{i}"
        if section.each:
            groups += [_group(f"{name}-{features[place].name}", axes, (place,)) for place in taken]
        else:
            groups.append(_group(name, axes, taken))
    if left:
        groups.append(_group(_REST, group_axes(space, GroupSection()), tuple(left)))
    names = [group.factor.name for group in groups]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise InputError(f"search.space.groups: names must differ, but {sorted(doubled)} come more than once")
    return tuple(groups)


def group_axes(space: SpaceSection, section: GroupSection) -> tuple[Axis, ...]:
    """What a group offers, in the order in which it is drawn; numbers that it leaves out are the space's."""

    def offered(name: str) -> tuple[Choice, ...]:
        own: tuple[Choice, ...] | None = getattr(section, name)
        return getattr(space, name) if own is None else own

    def under(*kinds: Choice, **others: frozenset[Choice]) -> dict[str, frozenset[Choice]]:
        return {"representation": frozenset(kinds), **others}

    dhe, long_rows = under("dhe", "hybrid"), frozenset(one for one in section.dtype if one != "int8")
    fewer = frozenset(share for share in section.kept_rows if share < 1)
    axes = [Axis(name="representation", offered=section.representation)]
    if section.dim is not None:
        axes.append(Axis(name="dim", offered=section.dim))
    axes += [
        Axis(name="dtype", offered=section.dtype, needs=under("table")),
        Axis(name="kept_rows", offered=section.kept_rows, needs=under("table", dtype=long_rows)),
        Axis(name="kept_by", offered=section.kept_by, needs=under("table", kept_rows=fewer)),
        *(Axis(name=name, offered=offered(name), needs=dhe) for name in ("dhe_k", "dhe_width", "dhe_depth")),
        Axis(name="qr_collisions", offered=offered("qr_collisions"), needs=under("quotient-remainder")),
        Axis(name="tt_rank", offered=offered("tt_rank"), needs=under("tensor-train")),
        Axis(name="narrower", offered=section.narrower, needs=under("mixed-dimension")),
    ]
    return tuple(axis for axis in axes if _can_be_drawn(axis, section))


def group_embedding(choices: Choices, feature: Feature, width: int) -> EmbeddingSpec:
    """The embedding of one feature, `width` wide, that a group's choices (by short name) make.

    A tensor train that is not smaller than the table is the table, as are fewer rows that come to all of them.
    """
    return _EMBEDDINGS[str(choices["representation"])](choices, feature, width)


def _table(choices: Choices, feature: Feature, width: int) -> EmbeddingSpec:
    share = float(choices.get("kept_rows", 1.0))
    if choices["dtype"] == "int8":
        return TableSpec(dim=width, dtype="int8", backend="quantised")
    table = TableSpec(dim=width, dtype="float16" if choices["dtype"] == "float16" else "float32")
    rows = max(1, round(share * feature.cardinality))
    if rows >= feature.cardinality:
        return table
    kept_by = cast("KeptBy", choices["kept_by"])
    return ReducedTableSpec(dim=width, rows=rows, kept_by=kept_by, dtype=table.dtype)


def _dhe(choices: Choices, feature: Feature, width: int) -> DheSpec:
    del feature
    widths = (int(choices["dhe_width"]),) * int(choices["dhe_depth"])
    return DheSpec(dim=width, k=int(choices["dhe_k"]), widths=widths)


def _hybrid(choices: Choices, feature: Feature, width: int) -> HybridSpec:
    half = width // 2
    return HybridSpec(table=TableSpec(dim=width - half), dhe=_dhe(choices, feature, half))


def _quotient_remainder(choices: Choices, feature: Feature, width: int) -> QuotientRemainderSpec:
    del feature
    return QuotientRemainderSpec(dim=width, collisions=int(choices["qr_collisions"]))


def _mixed_dimension(choices: Choices, feature: Feature, width: int) -> MixedDimensionSpec:
    del feature
    return MixedDimensionSpec(dim=width, inner_dim=max(1, width // int(choices["narrower"])))


def _tensor_train(choices: Choices, feature: Feature, width: int) -> EmbeddingSpec:
    train, table = TensorTrainSpec(dim=width, rank=int(choices["tt_rank"])), TableSpec(dim=width)
    return train if train.parameter_bytes(feature) < table.parameter_bytes(feature) else table


_EMBEDDINGS: Mapping[str, Callable[[Choices, Feature, int], EmbeddingSpec]] = {
    "table": _table,
    "dhe": _dhe,
    "hybrid": _hybrid,
    "quotient-remainder": _quotient_remainder,
    "mixed-dimension": _mixed_dimension,
    "tensor-train": _tensor_train,
}


def _can_be_drawn(axis: Axis, section: GroupSection) -> bool:
    """Whether there is any candidate of the group to which the axis matters."""
    kinds = axis.needs.get("representation")
    if kinds is not None and not kinds & set(section.representation):
        return False
    return all(axis.needs[name] for name in axis.needs)


def _members(
    section: GroupSection, left: Mapping[int, Feature], features: Sequence[Feature], where: str
) -> tuple[int, ...]:
    known = [feature.name for feature in features]
    for name in section.features:
        if name not in known:
            raise UnknownNameError(f"{where}.features", name, known)
    bounds = section.cardinality
    taken = tuple(
        place
        for place, feature in left.items()
        if (not section.features or feature.name in section.features)
        and (bounds is None or bounds.holds(feature.cardinality))
    )
    if not taken:
        sizes = [feature.cardinality for feature in features]
        raise InputError(
            f"{where}: takes no feature that no group before it has; cardinalities are {min(sizes)} to {max(sizes)}"
        )
    return taken


def _group(name: str, axes: tuple[Axis, ...], members: tuple[int, ...]) -> FeatureGroup:
    return FeatureGroup(factor=Factor(name=name.replace(".", "_"), axes=axes), members=members)
