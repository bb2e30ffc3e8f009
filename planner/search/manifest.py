"""What a search was asked, written beside its journal: it is resumed only by the same question."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from planner.search.task import SearchTask
from profiles.edge import read_json
from profiles.errors import InputError
from profiles.files import replace_file

__all__ = ["check_manifest", "compare_manifest", "manifest_of", "read_manifest"]

SCHEMA = "recplan.search/1"
MANIFEST = "manifest.json"
_LONGEST_VALUE = 100


def manifest_of(task: SearchTask) -> dict[str, Any]:
    """All that must be equal for trials to be comparable; the number of trials is not part of it."""
    section = task.section
    body = {
        "schema": SCHEMA,
        "seed": task.seed,
        "data": dict(task.data),
        "features": [asdict(feature) for feature in task.features],
        "dense_features": task.dense_features,
        "model": asdict(task.model),
        "search": {
            "objectives": section.objectives,
            "constraints": dict(section.limits),
            "latency_device": task.latency_device,
            "latency_batch": task.latency_batch,
            "space": section.space.to_object(),
            "training": asdict(section.training),
        },
    }
    plain: dict[str, Any] = json.loads(json.dumps(body, default=str))
    return plain


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of the search in `directory`."""
    return read_json(directory / MANIFEST)


def check_manifest(directory: Path, task: SearchTask) -> None:
    """Write the manifest, or compare with the one that is there.

    Raises:
        InputError: the search in `directory` was asked something else; the message names each difference.
    """
    compare_manifest(directory, task)
    path = directory / MANIFEST
    if not path.exists():
        replace_file(path, json.dumps(manifest_of(task), indent=1))


def compare_manifest(directory: Path, task: SearchTask) -> None:
    """Compare with the manifest, where there is one.

    Raises:
        InputError: as `check_manifest`.
    """
    path = directory / MANIFEST
    differences = list(_differences(read_json(path), manifest_of(task), "")) if path.exists() else []
    if differences:
        raise InputError(
            f"{path}: the search in this folder was asked something else: {'; '.join(differences)}; "
            "use another folder, or the study as it was"
        )


def _differences(before: Any, now: Any, where: str) -> Iterator[str]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in sorted({*before, *now}):
            yield from _differences(before.get(key), now.get(key), f"{where}.{key}" if where else str(key))
    elif _are_tables(before) and _are_tables(now) and len(before) == len(now):
        for place, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from _differences(one, other, f"{where}[{place}]")
    elif before != now:
        yield f"{where} was {_shown(before)}, is now {_shown(now)}"


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) for one in value)


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
