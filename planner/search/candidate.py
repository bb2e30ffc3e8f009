"""From choices to a model."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from planner.search.space import Choices
from planner.study import ModelSection
from representations.specs import DheSpec, EmbeddingSpec, Feature, HybridSpec, ModelSpec, TableSpec

__all__ = ["Candidate", "build_candidate", "candidate_key", "candidate_name"]


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
    embeddings = _EMBEDDINGS[str(choices["representation"])](choices, features)
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
    """A short name that tells the choices: `table-d8`, `select3-d8-k64-w32x1`."""
    parts = [f"{choices['representation']}{choices.get('select_largest', '')}", f"d{choices['dim']}"]
    if "dhe_k" in choices:
        parts += [f"k{choices['dhe_k']}", f"w{choices['dhe_width']}x{choices['dhe_depth']}"]
    return "-".join(parts)


def candidate_key(model: ModelSpec) -> str:
    """A hash of all but the name: different choices may make the same model, which need not be trained twice."""
    body = json.dumps(model.renamed("").to_object(), sort_keys=True)
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def _tables(choices: Choices, features: tuple[Feature, ...]) -> tuple[EmbeddingSpec, ...]:
    return (TableSpec(dim=int(choices["dim"])),) * len(features)


def _dhes(choices: Choices, features: tuple[Feature, ...]) -> tuple[EmbeddingSpec, ...]:
    return (_dhe(choices),) * len(features)


def _selected(choices: Choices, features: tuple[Feature, ...]) -> tuple[EmbeddingSpec, ...]:
    by_ids = sorted(range(len(features)), key=lambda i: (-features[i].cardinality, i))
    largest = set(by_ids[: int(choices["select_largest"])])
    table, dhe = TableSpec(dim=int(choices["dim"])), _dhe(choices)
    return tuple(dhe if i in largest else table for i in range(len(features)))


def _hybrids(choices: Choices, features: tuple[Feature, ...]) -> tuple[EmbeddingSpec, ...]:
    return (HybridSpec(table=TableSpec(dim=int(choices["dim"])), dhe=_dhe(choices)),) * len(features)


def _dhe(choices: Choices) -> DheSpec:
    widths = (int(choices["dhe_width"]),) * int(choices["dhe_depth"])
    return DheSpec(dim=int(choices["dim"]), k=int(choices["dhe_k"]), widths=widths)


_EMBEDDINGS: Mapping[str, Callable[[Choices, tuple[Feature, ...]], tuple[EmbeddingSpec, ...]]] = {
    "table": _tables,
    "dhe": _dhes,
    "select": _selected,
    "hybrid": _hybrids,
}
