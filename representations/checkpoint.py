"""The state of a training as one file, so that a killed one goes on: tensors as safetensors, the rest as JSON."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray

from profiles.errors import CorruptFileError, InputError
from profiles.files import make_folder, replace_file

if TYPE_CHECKING:
    from representations.datasets.splits import Splits
    from representations.training_run import TrainingRun

__all__ = ["SCHEMA", "Checkpoint", "restore", "save"]

SCHEMA = "recplan.checkpoint/1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """What a training is of, by which a file is known to belong to it."""

    task: Mapping[str, str]

    @classmethod
    def of(cls, run: "TrainingRun", splits: "Splits") -> Self:
        """The model, the settings and the rows of a run."""
        body = {"model": run.model.spec.to_object(), "settings": asdict(run.config)}
        parts = {"train": splits.train, "validation": splits.validation}
        task = {name: json.dumps(part, sort_keys=True) for name, part in body.items()}
        for name, part in parts.items():
            bags = [array for column in part.bags for array in (column.ids_L, column.offsets_N)]
            arrays: list[NDArray[Any]] = [part.dense_NF, part.ids_NS, part.labels_N, *bags]
            digest = hashlib.blake2b(b"".join(array.tobytes() for array in arrays), digest_size=16)
            task[f"{name} rows"] = f"{len(part)}:{digest.hexdigest()}"
        return cls(task=task)


def save(run: "TrainingRun", checkpoint: Checkpoint, path: Path) -> Path:
    """Replace the file with the state of the run; a kill in between leaves the older one.

    Raises:
        StorageError: the file cannot be written.
    """
    from safetensors.torch import save as to_bytes

    metadata = {
        "schema": SCHEMA,
        "task": json.dumps(dict(checkpoint.task)),
        "progress": json.dumps(run.progress()),
    }
    make_folder(path.parent)
    # A clone, as weights may share memory with others and safetensors writes no such tensors.
    tensors = {name: value.detach().clone().contiguous() for name, value in run.tensors().items()}
    return replace_file(path, to_bytes(tensors, metadata=metadata))


def restore(run: "TrainingRun", checkpoint: Checkpoint, path: Path) -> None:
    """Put a run where the file says.

    Raises:
        CorruptFileError: not a whole checkpoint.
        InputError: a checkpoint of another training; says whether model, settings or rows differ.
    """
    metadata, tensors = _read(path)
    if metadata.get("schema") != SCHEMA:
        raise CorruptFileError(f"{path}: schema: must be {SCHEMA!r}, but got {metadata.get('schema')!r}")
    found = json.loads(metadata["task"])
    different = [name for name, value in checkpoint.task.items() if found.get(name) != value]
    if different:
        raise InputError(f"{path}: is the checkpoint of another training: {', '.join(different)} differ")
    try:
        run.restore(tensors, json.loads(metadata["progress"]))
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise CorruptFileError(f"{path}: cannot be restored: {type(error).__name__}: {error}") from error


def _read(path: Path) -> tuple[dict[str, str], dict[str, Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            return file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no dict)
    except (SafetensorError, OSError) as error:
        raise CorruptFileError(f"{path}: not a whole safetensors file: {error}") from error
