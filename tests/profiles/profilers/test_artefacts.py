from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from profiles.profilers.artefacts import artefact_path, level_of
from tests.profiles.profilers.subjects import subjects_of

SUBJECT = subjects_of(nn.ReLU(), torch.ones(1))[""]


def test_files_are_named_after_the_module_and_its_pass(tmp_path: Path) -> None:
    names = [
        artefact_path(tmp_path, "traces", replace(SUBJECT, path=path), "gz").name
        for path in ("", "blocks.0.mlp", "blocks.0.MLP")
    ]
    assert names == ["model.gz", "blocks.0.mlp.gz", "blocks.0.MLP.gz"]
    assert artefact_path(tmp_path, "traces", replace(SUBJECT, phase="backward"), "gz").name == "model.backward.gz"


def test_names_that_a_file_system_may_refuse_stay_distinct(tmp_path: Path) -> None:
    paths = [
        artefact_path(tmp_path, "t", replace(SUBJECT, path=path), "gz") for path in ("a/b", "a:b", "model", "x" * 400)
    ]
    assert len({path.name for path in paths}) == 4
    assert all(path.parent == tmp_path / "t" and len(path.name) < 150 for path in paths)
    assert artefact_path(tmp_path, "t", SUBJECT, "gz") not in paths


def test_the_model_is_at_level_0() -> None:
    assert [level_of(replace(SUBJECT, path=path)) for path in ("", "a", "a.b")] == [0, 1, 2]
