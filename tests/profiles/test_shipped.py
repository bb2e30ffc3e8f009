from dataclasses import replace
from pathlib import Path

import pytest

from profiles.errors import CorruptFileError, InputError
from profiles.records import ComponentProfile
from profiles.shipped import ship, shipped_devices, shipped_profiles, shipped_setups
from tests.profiles.rows import row


def measured(name: str, day: str, threads: int = 1) -> ComponentProfile:
    made = row(name)
    return replace(made, fingerprint=replace(made.fingerprint, timestamp=f"{day}T10:00:00", threads=threads))


def test_what_is_shipped_is_read_again_the_newest_day_first(tmp_path: Path) -> None:
    old, new = [measured("a", "2030-01-01")], [measured("a", "2030-02-01"), measured("b", "2030-01-31")]
    ship(old, tmp_path)
    path = ship(new, tmp_path)
    assert path.name == f"{new[0].device}.2030-02-01.jsonl"
    assert shipped_devices(tmp_path) == (new[0].device,)
    assert shipped_profiles(new[0].device, tmp_path) == tuple(new)
    assert shipped_profiles("abacus", tmp_path) == ()
    assert shipped_setups(tmp_path) == {new[0].device: new[0].fingerprint}


def test_only_measurements_of_one_set_up_are_shipped(tmp_path: Path) -> None:
    rows = [measured("a", "2030-01-01"), measured("b", "2030-01-01", threads=7)]
    with pytest.raises(InputError, match="under one set-up, but there are 2"):
        ship(rows, tmp_path)
    with pytest.raises(InputError, match="under one set-up, but there are 0"):
        ship([rows[0].skipped("broken")], tmp_path)


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    path = ship([measured("a", "2030-01-01")], tmp_path)
    path.write_text(path.read_text() + "{}\n")
    with pytest.raises(CorruptFileError, match=r"jsonl:2: schema"):
        shipped_profiles(measured("a", "").device, tmp_path)


def test_every_shipped_file_is_whole() -> None:
    for device in shipped_devices():
        rows = shipped_profiles(device)
        assert {one.device for one in rows} == {device}
        assert len({one.fingerprint.device_key() for one in rows}) == 1
