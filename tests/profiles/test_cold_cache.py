from pathlib import Path

from profiles.cold_cache import CacheSweeper, last_level_cache_bytes


def test_the_largest_cache_counts(tmp_path: Path) -> None:
    for index, size in enumerate(["32K", "512K", "32M", "odd"]):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(f"{size}\n")
    assert last_level_cache_bytes(tmp_path) == 32 * 2**20


def test_a_machine_that_does_not_tell_has_32_mib(tmp_path: Path) -> None:
    assert last_level_cache_bytes(tmp_path) == 32 * 2**20


def test_a_sweep_touches_twice_the_cache_within_bounds() -> None:
    sweeper = CacheSweeper()
    sweeper()
    assert sweeper.buffer_bytes == min(max(2 * last_level_cache_bytes(), 2**20), 512 * 2**20)
