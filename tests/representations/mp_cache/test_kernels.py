from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from representations.mp_cache import kernels
from representations.mp_cache.kernels import LFU, LRU, admit, build_table, look_up, new_state

LOG = np.array([3, -7, 3, 2**60, 5, 3, -7, 5, 5, 9, 3, 2**60])


@given(log=st.lists(st.integers(-5, 9), min_size=1, max_size=40), entries=st.integers(1, 6))
def test_sources_lead_to_the_row_of_the_accessed_id(log: list[int], entries: int) -> None:
    state = new_state(entries)
    rows: dict[int, int] = {}
    for part in np.array_split(np.array(log), 3):
        source, missed, taken = admit(part, LRU, state)
        got = [rows[s] if s < entries else missed[s - entries] for s in source.tolist()]
        assert got == part.tolist()
        rows |= dict(zip(taken.tolist(), missed.tolist(), strict=True))


@pytest.mark.parametrize("policy", [LRU, LFU])
def test_admission_means_the_same_uncompiled(policy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = admit(LOG, policy, new_state(3))
    for name in ("_slot", "_sink", "_rise", "_evict"):
        monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)
    plain_admit, plain_state = _plain(admit), _plain(new_state)
    with np.errstate(over="ignore"):
        plain = plain_admit(LOG, policy, plain_state(3))
    for one, other in zip(compiled, plain, strict=True):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("uncompiled", [False, True])
def test_hot_ids_are_found_and_the_others_told(uncompiled: bool) -> None:
    build, find = (_plain(build_table), _plain(look_up)) if uncompiled else (build_table, look_up)
    hot, rows = np.array([-7, 5, 2**60]), np.arange(6, dtype=np.float32).reshape(3, 2)
    out = np.full((len(LOG), 2), -1, dtype=np.float32)
    with np.errstate(over="ignore"):
        missed = find(LOG, hot, build(hot), rows, out)
    assert missed.tolist() == [0, 2, 5, 9, 10]
    assert out[[1, 3, 4]].tolist() == [[0, 1], [4, 5], [2, 3]]
    assert (out[missed] == -1).all()


def _plain(function: Any) -> Any:
    return function.py_func
