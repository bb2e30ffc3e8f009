from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from profiles.component import make_component
from profiles.errors import MeasurementError
from profiles.executors.in_process import InProcessExecutor
from profiles.executors.ray import RayExecutor
from profiles.store import ProfileStore
from profiles.sweep import sweep
from tests.profiles.small_provider import QUICK, LinearProvider, broken, linear


@pytest.fixture(scope="module")
def executor() -> Iterator[RayExecutor]:
    with RayExecutor() as executor:
        yield executor


@pytest.mark.slow
def test_a_sweep_on_ray_writes_what_one_in_this_process_writes(executor: RayExecutor, tmp_path: Path) -> None:
    components = [linear(2), linear(3), broken(1)]
    there, here = ProfileStore(tmp_path / "there"), ProfileStore(tmp_path / "here")
    result = sweep(components, LinearProvider(), there, executor=executor, options=QUICK)
    sweep(components, LinearProvider(), here, options=QUICK)
    assert (result.measured, len(result.skipped)) == (2, 1)
    assert there.known() == here.known()
    assert {row.fingerprint.threads for row in there.load()} == {1}


@pytest.mark.slow
def test_a_cluster_of_this_machine_has_its_devices(executor: RayExecutor) -> None:
    assert executor.devices() == InProcessExecutor().devices()


@pytest.mark.slow
def test_a_group_whose_worker_dies_runs_again(executor: RayExecutor, tmp_path: Path) -> None:
    components = [linear(2), make_component("dying_once", 1)]
    store = ProfileStore(tmp_path / "store")
    result = sweep(components, LinearProvider(tmp_path), store, executor=executor, options=QUICK)
    assert (tmp_path / "died").exists()
    assert (result.measured, result.skipped) == (2, ())
    assert len(next((tmp_path / "store").glob("part-*")).read_text().splitlines()) == 2
    assert Counter(visit.content_hash for visit in store.visits()) == dict.fromkeys(store.known(), QUICK.visits)


@pytest.mark.slow
def test_a_device_that_the_cluster_lacks_is_a_measurement_error() -> None:
    impatient = RayExecutor(start_timeout_s=1.0)
    with impatient, pytest.raises(MeasurementError, match=r"'cuda:0' did not start"):
        impatient.fingerprint("cuda:0", 1)
