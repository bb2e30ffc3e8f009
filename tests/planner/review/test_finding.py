import sys
from pathlib import Path

import pytest

from planner.review.finding import find_subject
from profiles.errors import InputError, UnknownNameError
from representations.build import build_model
from representations.components import components_of
from representations.model_file import save_model
from representations.presets import get_preset
from tests.planner.review.small_models import SPEC


def test_a_preset_is_known_by_its_name() -> None:
    subject = find_subject("dlrm-kaggle", zipf=1.0)
    assert subject.parameter_bytes == get_preset("dlrm-kaggle").parameter_bytes
    assert subject.place(8) == components_of(get_preset("dlrm-kaggle"), 8, zipf=1.0)


def test_torchrec_s_model_is_reviewed_in_its_whole_size() -> None:
    subject = find_subject("deepfm")
    tables = [one.component for one in subject.place(4) if one.component.kind == "embedding_group"]
    assert subject.parameter_bytes > 69 * 10**9
    assert tables[0]["rows"] == sum(feature.cardinality for feature in get_preset("deepfm-bench").features)
    assert subject.memory is None


def test_a_model_file_and_its_folder_are_the_model(tmp_path: Path) -> None:
    file = save_model(build_model(SPEC, 0), tmp_path / "small.safetensors")
    for target in (str(file), str(tmp_path), f"{tmp_path}:small"):
        assert find_subject(target).place(4) == components_of(SPEC, 4)
    with pytest.raises(UnknownNameError, match=r"model: unknown name 'other'; known: small"):
        find_subject(f"{tmp_path}:other")


def test_a_candidate_comes_with_its_study_s_devices_and_skew(study_file: Path) -> None:
    subject = find_subject(f"{study_file}:table-d4")
    assert [(device.name, device.price_per_hour) for device in subject.devices] == [("cpu", 0.1), ("gpu", 2.0)]
    assert subject.batch == 64
    tables = [one.component for one in subject.place(2) if one.component.kind == "embedding"]
    assert all(float(table["zipf"]) > 0 for table in tables)
    with pytest.raises(UnknownNameError, match=r"candidate: unknown name 'table-d5' \(did you mean 'table-d4'\?\)"):
        find_subject(f"{study_file}:table-d5")
    with pytest.raises(InputError, match=r"candidate: name one after a colon, of dhe-"):
        find_subject(str(study_file))


@pytest.mark.slow
def test_a_plan_s_path_is_known_by_its_or_its_candidate_s_name(planned: Path) -> None:
    from serving_sim.plan import load_plan

    path = load_plan(planned / "plan.json").paths[0]
    by_path, by_model = (find_subject(f"{planned}:{name}") for name in (path.name, path.candidate))
    assert by_path.parameter_bytes == by_model.parameter_bytes == path.parameter_bytes


def test_a_function_s_torchrec_model_is_mapped_with_its_own_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "from representations.torchrec_models import dlrm, torchrec_target\n"
        "def make():\n    target = torchrec_target(dlrm(), batch=32)\n    return target.model, target.args\n"
        "def unknown():\n    import torch\n    return torch.nn.GRU(4, 4), (torch.zeros(2, 3, 4),)\n"
    )
    (tmp_path / "reviewed_target.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    subject = find_subject("reviewed_target:make")
    tables = [one.component for one in subject.place(4) if one.component.kind == "embedding_group"]
    assert (subject.batch, tables[0]["pooling"]) == (32, 10.0)
    with pytest.raises(InputError, match=r"nothing is known of the cost of a torch.nn.modules.rnn.GRU"):
        find_subject("reviewed_target:unknown")


def test_our_own_model_from_a_function_is_its_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "from representations.build import build_model\nfrom representations.target import random_inputs\n"
        "from tests.planner.review.small_models import SPEC\n"
        "def make():\n    return build_model(SPEC, 0), random_inputs(SPEC, 16)\n"
    )
    (tmp_path / "reviewed_own.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    subject = find_subject("reviewed_own:make")
    assert (subject.batch, subject.place(4)) == (16, components_of(SPEC, 4))
    assert subject.memory is not None


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("dlrm-kagle", r"unknown name 'dlrm-kagle' \(did you mean 'dlrm-kaggle'\?\)"),
        ("no/study.toml:table-d4", r"target: there is no no/study.toml"),
        ("no.safetensors", r"target: there is no no.safetensors"),
        ("no_module:make", r"cannot import 'no_module'"),
    ],
)
def test_what_nobody_knows_is_said(target: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_subject(target)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds neither plan.json nor a model"):
        find_subject(str(tmp_path))
