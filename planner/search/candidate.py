"""From choices to a model."""

import hashlib
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import cast

from planner.search.space import Choices
from planner.study import ModelSection
from representations.assignment import SELECTED, CompressionOptions, Representation, assign_embeddings
from representations.specs import DheSpec, EmbeddingSpec, Feature, ModelSpec

__all__ = ["Candidate", "build_candidate", "candidate_key", "candidate_name", "placed_key"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """Choices, the model they make, and the key under which equal models are one."""

    choices: Choices
    model: ModelSpec
    key: str


def build_candidate(
    choices: Choices, features: tuple[Feature, ...], dense_features: int, model: ModelSection, name: str = ""
) -> ModelSpec:
    """The model that `choices` make of the features and of what all candidates share.

    `dim` is the width of a table or a DHE; a hybrid has both parts that wide, so its embeddings are 2 x `dim`. Under
    the dot interaction the bottom MLP's last width is the embeddings' width; under concat it stays as it is.
    """
    embeddings = _embeddings(choices, features)
    bottom_mlp = model.bottom_mlp if dense_features else ()
    if bottom_mlp and model.interaction == "dot":
        bottom_mlp = (*bottom_mlp[:-1], embeddings[0].width)
    return ModelSpec(
        name=name or candidate_name(choices),
        dense_features=dense_features,
        features=features,
        embeddings=embeddings,
        bottom_mlp=bottom_mlp,
        top_mlp=model.top_mlp,
        interaction=model.interaction,
    )


def candidate_name(choices: Choices) -> str:
    """A short name that tells the choices: `table-d8`, `select3-d8-k64-w32x1`, `tensor-train-d8-r16`."""
    parts = [f"{choices['representation']}{choices.get('select_largest', '')}", f"d{choices['dim']}"]
    if "dhe_k" in choices:
        parts += [f"k{choices['dhe_k']}", f"w{choices['dhe_width']}x{choices['dhe_depth']}"]
    letters = {"qr_collisions": "c", "tt_rank": "r", "robe_compression": "x"}
    parts += [f"{letter}{choices[name]}" for name, letter in letters.items() if name in choices]
    return "-".join(parts)


def placed_key(key: str, choices: Choices) -> str:
    """The key of a model where it is judged: its own, unless the choices name a device or a batch."""
    where = [f"{name}={choices[name]}" for name in ("device", "batch") if name in choices]
    return hashlib.sha256(" ".join((key, *where)).encode()).hexdigest()[:16] if where else key


@lru_cache(maxsize=4096)
def candidate_key(model: ModelSpec) -> str:
    """A hash of all but the name: different choices may make the same model, which need not be trained twice."""
    body = json.dumps(model.renamed("").to_object(), sort_keys=True)
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def _embeddings(choices: Choices, features: tuple[Feature, ...]) -> tuple[EmbeddingSpec, ...]:
    dim = int(choices["dim"])
    representation = cast("Representation", choices["representation"])
    selected = int(choices.get("select_largest", SELECTED))
    if representation == "select" and selected >= len(features):
        representation = "dhe"
    return assign_embeddings(
        features,
        representation,
        dim=dim,
        dhe=_dhe(choices) if "dhe_k" in choices else None,
        selected=selected,
        options=_options(choices),
    )


def _dhe(choices: Choices) -> DheSpec:
    widths = (int(choices["dhe_width"]),) * int(choices["dhe_depth"])
    return DheSpec(dim=int(choices["dim"]), k=int(choices["dhe_k"]), widths=widths)


def _options(choices: Choices) -> CompressionOptions:
    usual = CompressionOptions()
    collisions = int(choices.get("qr_collisions", usual.quotient_remainder.collisions))
    return CompressionOptions(
        quotient_remainder=replace(usual.quotient_remainder, collisions=collisions),
        rank=int(choices.get("tt_rank", usual.rank)),
        compression=float(choices.get("robe_compression", usual.compression)),
    )
