import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from profiles.errors import InputError
from profiles.models import NanoGptConfig, build_nanogpt
from profiles.providers import InputBatch, Target
from profiles.results import load_profile
from representations.presets import get_preset
from representations.target import build_target
from tests.gpu.profile_models import CASES, Case, main


def small_deepfm() -> Target:
    spec = get_preset("deepfm-bench")
    spec = replace(spec, features=spec.features[:2], embeddings=spec.embeddings[:2])
    return build_target(spec, batch=2, budget_bytes=100_000)


def small_nanogpt() -> Target:
    config = NanoGptConfig(layers=1, heads=2, width=8, block=4, vocabulary=11)
    return Target(name="nanogpt", model=build_nanogpt(config), batches=(InputBatch(args=(torch.tensor([[1, 2, 3]]),)),))


SMALL = {"deepfm": small_deepfm, "nanogpt": small_nanogpt}


def test_every_case_is_set_beside_the_papers_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = [replace(case, target=SMALL[case.name.partition("-")[0]]) for case in CASES[:2]]
    assert main(["--out", str(tmp_path), "--device", "cpu", "--budget", "0"], cases) == 0
    found = json.loads((tmp_path / "profile_models.json").read_text())
    assert [one["case"] for one in found] == ["deepfm-bfloat16", "nanogpt-bfloat16"]
    rows = {row["path"]: row for row in found[0]["rows"]}
    assert rows["dense_arch.0"]["paper_mfu"] == 0.2591
    assert rows["dense_arch.0"]["tflops_per_s"] > 0
    assert {"(model)", "lm_head"} < {row["path"] for row in found[1]["rows"]}
    saved = load_profile(tmp_path / "deepfm-bfloat16")
    assert saved.rows[0].preprocessors == ("autocast(bfloat16)",)
    assert {row.provenance for row in saved.modules} == {"measured"}
    assert "| 25.91% |" in (tmp_path / "profile_models.md").read_text()
    assert "deepfm-bfloat16: " in capsys.readouterr().out


def test_what_there_is_no_time_for_is_told_and_not_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--out", str(tmp_path), "--device", "cpu", "--minutes", "0"]) == 0
    assert capsys.readouterr().out.count("not begun, out of time") == len(CASES)


def test_a_component_that_the_model_lacks_is_named(tmp_path: Path) -> None:
    case = Case(name="odd", target=small_nanogpt, paper={"blocks.7": 0.1})
    with pytest.raises(InputError, match=r"case 'odd': the model has no 'blocks.7'"):
        main(["--out", str(tmp_path), "--device", "cpu", "--budget", "0"], [case])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_deepfm_and_nanogpt_are_profiled_on_the_device(tmp_path: Path) -> None:
    assert main(["--out", str(tmp_path)], CASES[:2]) == 0
    found = json.loads((tmp_path / "profile_models.json").read_text())
    assert all(0 < row["mfu"] < 1 for one in found for row in one["rows"] if row["path"] == "(model)")
