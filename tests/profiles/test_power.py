from pathlib import Path

import pytest

from profiles.errors import InputError
from profiles.power import PowerMeter, packages_of


def counter(powercap: Path, name: str, energy_uj: int, range_uj: int = 10**9) -> Path:
    folder = powercap / name
    folder.mkdir()
    (folder / "energy_uj").write_text(f"{energy_uj}\n", encoding="ascii")
    (folder / "max_energy_range_uj").write_text(f"{range_uj}\n", encoding="ascii")
    return folder / "energy_uj"


def test_packages_count_once_and_their_parts_not_at_all(tmp_path: Path) -> None:
    counter(tmp_path, "intel-rapl:0", 5)
    counter(tmp_path, "intel-rapl:0:0", 5)
    counter(tmp_path, "intel-rapl:1", 5)
    (tmp_path / "intel-rapl:2").mkdir()
    assert [one.energy_file.parent.name for one in packages_of(tmp_path)] == ["intel-rapl:0", "intel-rapl:1"]


def test_watts_are_the_joules_of_the_block_over_its_seconds(tmp_path: Path) -> None:
    first, second = (counter(tmp_path, f"intel-rapl:{i}", 100) for i in range(2))
    with PowerMeter(powercap=tmp_path) as meter:
        first.write_text("2000100", encoding="ascii")
        second.write_text("1000100", encoding="ascii")
    assert meter.watts is not None
    assert meter.watts > 0
    assert meter.joules_of(500.0) == pytest.approx(meter.watts / 2)


def test_a_counter_that_started_anew_is_read_on(tmp_path: Path) -> None:
    energy = counter(tmp_path, "intel-rapl:0", 900, range_uj=999)
    with PowerMeter(powercap=tmp_path) as meter:
        energy.write_text("50", encoding="ascii")
    assert meter.watts is not None
    assert meter.watts > 0


@pytest.mark.parametrize("torch_name", ["cpu", "cuda:99"])
def test_a_device_that_reports_no_power_has_none_rather_than_zero(torch_name: str, tmp_path: Path) -> None:
    with PowerMeter(torch_name, powercap=tmp_path) as meter:
        pass
    assert meter.watts is None
    assert meter.joules_of(1.0) is None
    with pytest.raises(InputError, match=r"latency must be >= 0 ms, but got -1"):
        meter.joules_of(-1)
