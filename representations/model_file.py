"""A trained model as one file: weights as safetensors, the spec as JSON in its metadata. No pickles."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiles.errors import CorruptFileError, InputError
from profiles.files import replace_file
from representations.specs import ModelSpec, model_from_object

if TYPE_CHECKING:
    from representations.model import RecommendationModel

__all__ = ["SCHEMA", "load_model", "save_model"]

SCHEMA = "recplan.model/1"


def save_model(model: "RecommendationModel", path: Path) -> Path:
    """Write the weights, hash functions and spec to one file; an interrupted write leaves an older file as it was.

    What a fused optimizer has accumulated is left out: the loaded model has none.

    Raises:
        StorageError: the file cannot be written.
    """
    from safetensors.torch import save

    from representations.mp_cache.attach import describe_caches

    caches = json.dumps(describe_caches(model))
    metadata = {"schema": SCHEMA, "spec": json.dumps(model.spec.to_object()), "caches": caches}
    return replace_file(path, save(_weights(model), metadata=metadata))


def load_model(path: Path) -> "RecommendationModel":
    """The model that `save_model` wrote, in evaluation mode.

    Raises:
        InputError: no such file.
        CorruptFileError: not a safetensors file, truncated, of another schema, or weights that do not fit the spec.
    """
    from representations.build import build_model
    from representations.mp_cache.attach import restore_caches

    metadata, state = _read(path)
    if metadata.get("schema") != SCHEMA:
        raise CorruptFileError(f"{path}: schema: must be {SCHEMA!r}, but got {metadata.get('schema')!r}")
    try:
        model = build_model(_spec(metadata))
        restore_caches(model, json.loads(metadata.get("caches", "{}")))
        model.load_state_dict(state)
    except (AttributeError, InputError, KeyError, RuntimeError, ValueError) as error:
        raise CorruptFileError(f"{path}: weights and spec do not fit: {error}") from error
    model.eval()
    return model


def _weights(model: "RecommendationModel") -> dict[str, Any]:
    from representations.tables.fbgemm import FbgemmTables

    squares = {f"{path}.squares" for path, module in model.named_modules() if isinstance(module, FbgemmTables)}
    return {name: value.contiguous() for name, value in model.state_dict().items() if name not in squares}


def _spec(metadata: dict[str, str]) -> ModelSpec:
    return model_from_object(json.loads(metadata["spec"]))


def _read(path: Path) -> tuple[dict[str, str], dict[str, Any]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        with safe_open(path, framework="pt") as file:
            return file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no dict)
    except (SafetensorError, OSError) as error:
        raise CorruptFileError(f"{path}: not a whole safetensors file: {error}") from error
