"""A space as a reader sees it: what is offered under each name, why that is the default, and how much it comes to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from planner.search.factors import Axis, Factor
from planner.search.search_space import SearchSpace
from planner.study import GroupSection, SpaceSection

__all__ = ["REASONS", "OfferedChoice", "merged_groups", "offered_choices", "size_text"]

# What each choice is for, and why its default is what it is.
REASONS: Mapping[str, str] = {
    "representation": "whole model: the four that MP-Rec compares; groups: a table or the DHE that replaces it",
    "dim": "powers of two up to 16, the width of the published DLRM on Kaggle's data",
    "kept_rows": "all rows: fewer cost accuracy, so they are offered where memory is short",
    "kept_by": "hash: needs no map; frequency keeps 4 bytes per id to give frequent ids rows of their own",
    "dtype": "float32, as trained; int8 takes a quarter and is quantised after training",
    "dhe_k": "16 to 256 hash functions, below the published 1,024: encoder and first layer grow with them",
    "dhe_width": "32 and 64, two and four times the widest default dim",
    "dhe_depth": "one hidden layer, the smallest decoder that is no linear map",
    "select_largest": "3 tables, as MP-Rec's characterisation",
    "qr_collisions": "4 ids per row, a quarter of a table",
    "tt_rank": "16, of the ranks that TT-Rec reports",
    "robe_compression": "10 times smaller: the published thousandfold is of models of 100 GB",
    "narrower": "a half and a quarter of the width: steps of the popularity rule, which takes powers of two",
    "interaction": "the study's: dot products need one width for all embeddings, concat does not",
    "bottom_width": "the study's [model]",
    "bottom_depth": "the study's [model]",
    "top_width": "the study's [model]",
    "top_depth": "the study's [model]",
    "device": "the device that latency is judged on",
    "batch": "the query size that latency is judged at",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class OfferedChoice:
    """One axis of a space; `group` is empty for choices of the whole model, `only_for` says where it is drawn.

    `default` is what is offered where a study says nothing; empty where that is the study's own model, device or batch.
    """

    group: str
    name: str
    offered: tuple[str | int | float, ...]
    only_for: str
    default: tuple[str | int | float, ...]
    reason: str

    @property
    def is_default(self) -> bool:
        """Whether the study leaves the choice as it is."""
        return self.offered == self.default


def offered_choices(space: SearchSpace) -> tuple[OfferedChoice, ...]:
    """Every choice of the space in the order in which it is drawn."""
    return tuple(choice for factor in space.factors for choice in _of_factor(factor))


def merged_groups(choices: Sequence[OfferedChoice]) -> tuple[OfferedChoice, ...]:
    """The choices with groups that offer the same told once, under all of their names."""
    rows_of: dict[str, list[OfferedChoice]] = {}
    for choice in choices:
        rows_of.setdefault(choice.group, []).append(replace(choice, group=""))
    alike: dict[tuple[OfferedChoice, ...], list[str]] = {}
    for group, rows in rows_of.items():
        alike.setdefault(tuple(rows), []).append(group)
    return tuple(replace(row, group=", ".join(groups)) for rows, groups in alike.items() for row in rows)


def size_text(space: SearchSpace) -> str:
    """How many candidates there are, and of what: `1.6e+13 candidates: large 27 x small 7 x dim 3`."""
    names = [factor.name or factor.axes[0].name for factor in space.factors]
    parts = " x ".join(f"{name} {factor.size:,}" for name, factor in zip(names, space.factors, strict=True))
    size = f"{space.size:,}" if space.size < 10**9 else f"{space.size:.3g}"
    return f"{size} candidates: {parts}" if len(space.factors) > 1 else f"{size} candidates"


def _of_factor(factor: Factor) -> Iterator[OfferedChoice]:
    for axis in factor.axes:
        yield OfferedChoice(
            group=factor.name,
            name=axis.name,
            offered=axis.offered,
            only_for=_only_for(axis, factor),
            default=_default(axis.name, is_group=bool(factor.name)),
            reason=REASONS[axis.name],
        )


def _only_for(axis: Axis, factor: Factor) -> str:
    """Under which of what is offered it is drawn; nothing where that is always."""
    offered = {other.name: set(other.offered) for other in factor.axes}
    some = {name: wanted & offered[name] for name, wanted in axis.needs.items() if not offered[name] <= wanted}
    return " and ".join(f"{name} {', '.join(sorted(map(str, wanted)))}" for name, wanted in some.items())


def _default(name: str, *, is_group: bool) -> tuple[str | int | float, ...]:
    """What is offered where a study says nothing; groups take what they leave out from the space."""
    own = {part.name: getattr(GroupSection(), part.name) for part in fields(GroupSection)} if is_group else {}
    value = own.get(name)
    found: tuple[str | int | float, ...] = getattr(SpaceSection(), name, ()) if value is None else value
    return found
