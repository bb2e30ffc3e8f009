import json
from pathlib import Path
from typing import Any

import pytest

from planner.cli.app import run
from planner.cli.reviewing import _amounts
from profiles.errors import InputError


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["review", *arguments, "--json"]) == 0
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert run(["review", *arguments]) == 2
    return capsys.readouterr().err


def test_a_review_prices_every_component_on_each_device(capsys: pytest.CaptureFixture[str]) -> None:
    body = json_of(
        capsys, "dlrm-flights", "--batch", "16", "--device", "cpu", "--device", "v100", "--price", "v100=3.6"
    )
    on_cpu, on_gpu = body["devices"]
    assert (on_cpu["kind"], on_cpu["provenance"], on_cpu["cost_per_million"]) == ("local-cpu", "measured", None)
    assert on_gpu["cost_per_million"] == pytest.approx(3.6 / 3600 * on_gpu["latency_ms"] / 1e3 * 1e6 / 16)
    assert {row["kind"] for row in on_cpu["components"]} == {"linear", "elementwise", "embedding", "interaction"}
    assert body["against"] is body["page"] is None


def test_two_targets_stand_side_by_side_on_a_page(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ("dlrm-flights", "--against", "deepfm-flights", "--device", "h100", "--out", str(tmp_path))
    body = json_of(capsys, *arguments)
    assert body["page"] == str(tmp_path / "review.html")
    (device,) = body["against"]["devices"]
    assert sum(row["change_ms"] for row in device["components"]) == pytest.approx(device["change_ms"])
    assert run(["review", *arguments, "--power", "h100=500", "--price", "h100=4", "--top", "3"]) == 0
    out = capsys.readouterr().out
    assert "Against deepfm-flights on h100: " in out
    assert "J per pass, modelled at 500 W" in out
    assert "more components: " in out


def test_a_study_s_candidate_is_reviewed_on_the_study_s_devices(
    capsys: pytest.CaptureFixture[str], study_file: Path
) -> None:
    body = json_of(capsys, f"{study_file}:table-d2")
    assert [(device["name"], device["price_per_hour"]) for device in body["devices"]] == [("cpu", 0.1), ("gpu", 2.0)]
    assert body["batch"] == 64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("dlrm-kagle",), "did you mean 'dlrm-kaggle'?"),
        (("dlrm-flights", "--device", "v1000"), "error: --device: unknown name 'v1000'"),
        (("dlrm-flights", "--device", "cuda:99"), "error: --device: 'cuda:99' is not on this machine"),
        (("dlrm-flights", "--device", "v1000"), "did you mean 'v100'?"),
        (("dlrm-flights", "--device", "v100", "--profiles", __file__), "test_reviewing.py is a file"),
        (("dlrm-flights", "--price", "v100=1"), "--price: 'v100' is none of the devices (local-cpu)"),
        (
            ("dlrm-flights", "--device", "v100", "--price", "v100=-1"),
            "--price: must be finite and >= 0, but got 'v100=-1'",
        ),
        (
            ("dlrm-flights", "--profiles", "nowhere"),
            "error: --profiles: must be a folder of profiles, but there is no",
        ),
        (("dlrm-flights", "--no-measure"), "nothing was measured on it and nothing of it is published"),
        (("dlrm-flights", "--no-measure"), "give --profiles, or leave out --no-measure"),
        (("nanogpt", "--device", "v100"), "nothing is known of the cost of a"),
        (("dlrm-flights", "--against", "no.safetensors"), "there is no no.safetensors"),
    ],
)
def test_wrong_input_is_said(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    assert message in error_of(capsys, *arguments)


def test_a_folder_that_cannot_be_made_is_named_before_anything_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["review", "dlrm-flights", "--out", f"{__file__}/x"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: --out: ")
    assert "measuring" not in error


def test_amounts_belong_to_a_name() -> None:
    assert _amounts("--price", ["a=1", "b=0.5"]) == {"a": 1.0, "b": 0.5}
    for bad in (["a"], ["a=x"], ["=1"], ["a=1", "a=2"]):
        with pytest.raises(InputError, match=r"--price: must"):
            _amounts("--price", bad)
