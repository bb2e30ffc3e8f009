from pathlib import Path

import pytest

from profiles.store import ProfileStore
from tests.gpu.sweep_presets import main, preset_components


def test_the_presets_components_are_distinct_and_of_every_kind() -> None:
    components = preset_components(1000)
    assert len(set(components)) == len(components)
    assert {component.kind for component in components} == {
        "linear", "elementwise", "embedding", "dhe_encoder", "interaction", "concat",
    }  # fmt: skip


def test_a_sweep_out_of_time_keeps_what_it_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--out", str(tmp_path), "--device", "cpu", "--minutes", "0", "--most-rows", "100"])
    assert stopped.value.code == 0
    assert "out of time after 0 of" in capsys.readouterr().out
    assert len(ProfileStore(tmp_path).visits()) == 1
