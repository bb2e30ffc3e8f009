"""A trained model with smaller rows."""

from dataclasses import replace
from typing import Literal

import torch

from profiles.errors import InputError
from representations.build import build_model
from representations.model import RecommendationModel
from representations.specs import ModelSpec, TableSpec

__all__ = ["quantise_as", "quantise_model", "trainable_spec"]


def quantise_model(model: RecommendationModel, dtype: Literal["float16", "int8"] = "int8") -> RecommendationModel:
    """A copy for inference whose plain tables have rows of that dtype in one table-batched kernel; the rest is equal.

    Raises:
        InputError: the model has no plain table.
    """
    spec = _quantised(model.spec, dtype)
    if spec == model.spec:
        raise InputError(f"model {spec.name!r}: has no table to quantise")
    return _copied(model, spec)


def trainable_spec(spec: ModelSpec) -> ModelSpec:
    """The model that is trained for one whose tables are quantised: these as float32 tables, the rest equal."""
    embeddings = tuple(
        replace(embedding, dtype="float32", backend="torch")
        if isinstance(embedding, TableSpec) and embedding.backend == "quantised"
        else embedding
        for embedding in spec.embeddings
    )
    return replace(spec, embeddings=embeddings)


def quantise_as(model: RecommendationModel, spec: ModelSpec) -> RecommendationModel:
    """A copy for inference of a trained model, with the tables quantised that are so in `spec`.

    Raises:
        InputError: `spec` differs in more than that.
    """
    if replace(trainable_spec(spec), name="") != replace(model.spec, name=""):
        raise InputError(f"model {model.spec.name!r}: was not trained for {spec.name!r}")
    return _copied(model, spec)


def _copied(model: RecommendationModel, spec: ModelSpec) -> RecommendationModel:
    """The model with tables in the form of `spec`, read out of its own."""
    copy = build_model(spec)
    changed = {i for i, (a, b) in enumerate(zip(spec.embeddings, model.spec.embeddings, strict=True)) if a != b}
    with torch.no_grad():
        for i in changed:
            copy.embedding_set.write_table(i, model.embedding_set.read_table(i))
    kept = {name for name, _ in copy.named_parameters()} | {name for name, _ in copy.named_buffers()}
    state = {name: value for name, value in model.state_dict().items() if name in kept}
    copy.load_state_dict({**copy.state_dict(), **state})
    return copy.eval()


def _quantised(spec: ModelSpec, dtype: Literal["float16", "int8"]) -> ModelSpec:
    embeddings = tuple(
        replace(embedding, dtype=dtype, backend="quantised") if isinstance(embedding, TableSpec) else embedding
        for embedding in spec.embeddings
    )
    return replace(spec, embeddings=embeddings)
