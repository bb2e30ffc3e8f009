"""One candidate of a space from its choices."""

import numpy as np

from planner.search.candidate import Candidate, candidate_key, candidate_name, placed_key
from planner.search.factors import Choice, Choices
from planner.search.search_space import SearchSpace
from planner.search.space_columns import SpaceModels
from representations.specs import ModelSpec

__all__ = ["sample_models", "space_candidate"]

_LONGEST = 64
_LETTERS = {
    "dim": "d",
    "kept_rows": "r",
    "dhe_k": "k",
    "dhe_width": "w",
    "dhe_depth": "x",
    "qr_collisions": "c",
    "tt_rank": "r",
    "narrower": "n",
    "bottom_width": "b",
    "bottom_depth": "x",
    "top_width": "t",
    "top_depth": "x",
    "batch": "n",
}
# Parts that follow the one before them without a dash.
_ATTACHED = frozenset({"dhe_depth", "bottom_depth", "top_depth"})


def space_candidate(space: SearchSpace, choices: Choices) -> Candidate:
    """The candidate that `choices` make; on another device or at another batch it is another one.

    Raises:
        InputError: a choice that is missing or not offered.
    """
    columns = SpaceModels(space=space).columns(space.code(choices)[None, :])
    model = columns.candidates.model(0, "candidate")
    key = candidate_key(model)
    name = _name(space, choices, key)
    return Candidate(choices=dict(choices), model=model.renamed(name), key=placed_key(key, choices))


def _name(space: SearchSpace, choices: Choices, key: str) -> str:
    """What is chosen, group by group, or where that is long the groups' representations and the model's key."""
    if not space.groups:
        whole = {axis.name for factor in space.factors[1:] for axis in factor.axes}
        own = {name: choice for name, choice in choices.items() if name not in whole}
        return _joined([candidate_name(own), *_parts({name: choices[name] for name in choices if name in whole})])
    groups = []
    for group in space.groups:
        own = group.factor.own_choices(group.factor.place(choices))
        groups.append("-".join((f"{group.factor.name}={own.pop('representation')}", *_parts(own))))
    rest = {name: choice for name, choice in choices.items() if "." not in name}
    name = _joined(["_".join(groups), *_parts(rest)])
    where = {axis: choices[axis] for axis in ("device", "batch") if axis in choices}
    return name if len(name) <= _LONGEST else _joined([f"groups-{key[:8]}", *_parts(where)])


def _parts(choices: dict[str, Choice]) -> list[str]:
    parts: list[str] = []
    for name, choice in choices.items():
        part = f"{_LETTERS.get(name, '')}{choice}"
        if name in _ATTACHED and parts:
            parts[-1] += part
        else:
            parts.append(part)
    return parts


def _joined(parts: list[str]) -> str:
    return "-".join(parts)


def sample_models(space: SearchSpace, most: int, seed: int) -> tuple[ModelSpec, ...]:
    """The different models of a space in a fixed order, or `most` of its candidates: its extremes, then drawn ones."""
    if space.size <= most:
        codes_NG = space.all_codes()
    else:
        drawn_NG = space.sample(2 * most, np.random.default_rng(seed))
        together_NG = np.concatenate((space.extremes(), drawn_NG))
        _, first = np.unique(together_NG, axis=0, return_index=True)
        codes_NG = together_NG[np.sort(first)[:most]]
    columns = SpaceModels(space=space).columns(codes_NG)
    models: dict[str, ModelSpec] = {}
    for place in range(len(columns)):
        model = columns.candidates.model(place, "candidate")
        models.setdefault(candidate_key(model), model)
    return tuple(model.renamed(f"candidate-{key}") for key, model in models.items())
