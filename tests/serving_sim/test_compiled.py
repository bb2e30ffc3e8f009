import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from serving_sim.kernels import compiled as compiling

SOURCE = "def twice(value):\n    return 2 * value\n"


def module_at(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_read_from_disk(function: Callable[[int], int]) -> bool:
    dispatcher: Any = compiling.compiled(function)
    assert dispatcher(21) == 42
    return bool(dispatcher.stats.cache_hits)


def test_what_is_on_the_disk_counts_until_any_kernel_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "apart.py"
    path.write_text(SOURCE, encoding="utf-8")
    twice = module_at(path).twice
    assert not is_read_from_disk(twice)
    assert is_read_from_disk(twice)
    monkeypatch.setattr(compiling, "_digest_of_kernels", lambda: "another kernel's text")
    assert not is_read_from_disk(twice)
