from pathlib import Path

import pytest
import torch
from torch import nn

from profiles.cold_cache import CacheSweeper
from profiles.devices import resolve_device
from profiles.profile_options import ProfileOptions
from profiles.store import ProfileStore
from profiles.sweep import sweep
from profiles.timing import TimingOptions, measure_latency
from profiles.walk import profile_model
from tests.profiles.small_provider import QUICK, LinearProvider, linear

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def test_events_time_what_the_device_does() -> None:
    a_NN = torch.ones(2048, 2048, device="cuda")
    options = TimingOptions(seconds_per_visit=0.01, min_samples=3)
    small = measure_latency(lambda: a_NN[:64, :64] @ a_NN[:64, :64], device="cuda:0", options=options)
    large = measure_latency(lambda: a_NN @ a_NN, device="cuda:0", options=options, before=CacheSweeper("cuda:0"))
    assert small.median_ms < large.median_ms
    assert large.wall_over_cpu is None


def test_a_sweep_names_the_device_by_the_catalogue(tmp_path: Path) -> None:
    sweep([linear(64)], LinearProvider(), ProfileStore(tmp_path), device="cuda", options=QUICK)
    (row,) = ProfileStore(tmp_path).load()
    assert row.device == resolve_device("cuda:0").name
    assert row.fingerprint.processor == torch.cuda.get_device_name(0)


def test_a_cluster_of_this_machine_measures_its_gpu(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    from profiles.executors import RayExecutor

    store, name = ProfileStore(tmp_path), resolve_device("cuda:0").name
    with RayExecutor() as executor:
        assert executor.devices() == ("local-cpu", name)
        sweep([linear(64)], LinearProvider(), store, device=name, executor=executor, options=QUICK)
    assert [row.device for row in store.load()] == [name]


def test_a_model_on_the_device_is_profiled_there() -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU()).cuda()
    state = torch.cuda.get_rng_state()
    profile = profile_model(model, (torch.ones(8, 64, device="cuda"),), options=ProfileOptions(cold=True))
    assert {row.provenance for row in profile.rows} == {"measured"}
    assert all(row.in_situ for row in profile.rows)
    assert torch.equal(state, torch.cuda.get_rng_state())
