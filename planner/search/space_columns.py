"""Candidates of a space as columns, so that any number of them are priced without a loop.

Array suffixes: N candidates, G factors, F features, U different choices.
"""

from dataclasses import dataclass, field
from typing import cast

import numpy as np

from planner.cost_model.candidates import Candidates, DenseSpec, Index
from planner.search.columns import space_columns
from planner.search.factors import Choices, Places
from planner.search.group_embeddings import FeatureGroup, group_embedding
from planner.search.search_space import SearchSpace
from representations.specs import EmbeddingSpec, Interaction

__all__ = ["SpaceColumns", "SpaceModels", "dense_part_of"]

_DENSE_AXES = ("interaction", "bottom_width", "bottom_depth", "top_width", "top_depth")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SpaceColumns:
    """N candidates, given by codes: their models, the device of each, and of how many samples its queries are.

    `devices` and `batches` are empty where the space offers none: all are judged as the study says.
    """

    codes_NG: Places
    candidates: Candidates
    devices: tuple[str, ...]
    device_N: Index
    batches: tuple[int, ...]
    batch_N: Index

    def __len__(self) -> int:
        return len(self.candidates)


@dataclass(kw_only=True, slots=True, eq=False)
class SpaceModels:
    """From codes to models; embeddings and dense parts that were met are kept, each with its place."""

    space: SearchSpace
    _embeddings: dict[EmbeddingSpec, int] = field(default_factory=dict)
    _dense: dict[DenseSpec, int] = field(default_factory=dict)
    _places: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    def columns(self, codes_NG: Places) -> SpaceColumns:
        """The candidates of these codes.

        Raises:
            InputError: a place beyond its factor.
        """
        space = self.space
        chosen = self._model_choices(codes_NG)
        if space.groups:
            embedding_NF = self._grouped(codes_NG, chosen.get("dim"))
            embeddings = tuple(self._embeddings)
        else:
            flat = space_columns(space.section, codes_NG[:, 0], space.features, space.dense_features, space.model)
            embeddings, embedding_NF = flat.embeddings, flat.embedding_NF
        widths = np.array([spec.width for spec in embeddings], dtype=np.intp)
        dense_N = self._dense_parts(chosen, widths[embedding_NF[:, 0]])
        nothing_N = np.zeros(len(codes_NG), dtype=np.intp)
        return SpaceColumns(
            codes_NG=codes_NG,
            candidates=Candidates(
                features=space.features,
                dense_features=space.dense_features,
                embeddings=embeddings,
                dense=tuple(self._dense),
                embedding_NF=embedding_NF,
                dense_N=dense_N,
            ),
            devices=space.section.device,
            device_N=chosen.get("device", nothing_N),
            batches=space.section.batch,
            batch_N=chosen.get("batch", nothing_N),
        )

    def _model_choices(self, codes_NG: Places) -> dict[str, Index]:
        """For each choice of the whole model but a flat space's representation, which of its values is chosen."""
        first = len(self.space.groups) or 1
        return {
            factor.axes[0].name: codes_NG[:, place].astype(np.intp)
            for place, factor in enumerate(self.space.factors)
            if place >= first
        }

    def _grouped(self, codes_NG: Places, dim_N: Index | None) -> Index:
        dims = self.space.section.dim
        embedding_NF = np.empty((len(codes_NG), len(self.space.features)), dtype=np.intp)
        for g, group in enumerate(self.space.groups):
            key_N = codes_NG[:, g] if dim_N is None else codes_NG[:, g] * len(dims) + dim_N
            keys_U, which_N = _distinct(key_N)
            places_UF = [self._group_places(g, group, key, has_dim=dim_N is not None) for key in keys_U.tolist()]
            embedding_NF[:, group.members] = np.array(places_UF, dtype=np.intp).reshape(-1, len(group.members))[
                which_N.reshape(-1)
            ]
        return embedding_NF

    def _group_places(self, number: int, group: FeatureGroup, key: int, *, has_dim: bool) -> list[int]:
        """For each member the place of its embedding."""
        if (number, key) not in self._places:
            dims = self.space.section.dim
            place, dim = divmod(key, len(dims)) if has_dim else (key, 0)
            choices = group.factor.own_choices(place)
            width = int(choices.get("dim", dims[dim]))
            made = [group_embedding(choices, self.space.features[member], width) for member in group.members]
            self._places[number, key] = [self._embeddings.setdefault(one, len(self._embeddings)) for one in made]
        return self._places[number, key]

    def _dense_parts(self, chosen: dict[str, Index], width_N: Index) -> Index:
        """Which dense part each candidate has; under the dot interaction it depends on the embeddings' width."""
        names = [name for name in _DENSE_AXES if name in chosen]
        key_N = width_N.astype(np.int64)
        for name in names:
            key_N = key_N * len(getattr(self.space.section, name)) + chosen[name]
        _, first_U, which_N = np.unique(key_N, return_index=True, return_inverse=True)
        places_U = []
        for row in first_U.tolist():
            offered = {name: getattr(self.space.section, name)[chosen[name][row]] for name in names}
            part = dense_part_of(offered, self.space, int(width_N[row]))
            places_U.append(self._dense.setdefault(part, len(self._dense)))
        return np.array(places_U, dtype=np.intp)[which_N.reshape(-1)]


def _distinct(key_N: Places) -> tuple[Places, Index]:
    """The different keys, ascending, and which of them each is; by counting where that is cheaper than sorting."""
    if len(key_N) and int(key_N.max()) < len(key_N):
        used = np.flatnonzero(np.bincount(key_N))
        places = np.zeros(used[-1] + 1, dtype=np.intp)
        places[used] = np.arange(len(used))
        return used, places[key_N]
    keys_U, which_N = np.unique(key_N, return_inverse=True)
    return keys_U, which_N.reshape(-1)


def dense_part_of(choices: Choices, space: SearchSpace, width: int) -> DenseSpec:
    """All but the embeddings, `width` wide each, of a model with these choices."""
    model = space.model
    interaction = cast("Interaction", choices.get("interaction", model.interaction))
    bottom_mlp = model.bottom_mlp if space.dense_features else ()
    if "bottom_width" in choices:
        bottom_mlp = (*_hidden(choices, "bottom"), model.bottom_mlp[-1])
    if bottom_mlp and interaction == "dot":
        bottom_mlp = (*bottom_mlp[:-1], width)
    top_mlp = (*_hidden(choices, "top"), 1) if "top_width" in choices else model.top_mlp
    return DenseSpec(bottom_mlp=bottom_mlp, top_mlp=top_mlp, interaction=interaction)


def _hidden(choices: Choices, stem: str) -> tuple[int, ...]:
    return (int(choices[f"{stem}_width"]),) * int(choices[f"{stem}_depth"])
