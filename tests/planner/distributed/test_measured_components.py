"""The components of a plan in a profile store: which they are, measuring them, and whose rows count."""

from dataclasses import replace
from pathlib import Path

import pytest

from planner.distributed import EmbeddingTable
from planner.distributed.iteration import DenseStack, TrainingJob, perceptron
from planner.distributed.measured_components import job_components, measure_components, stored_times
from profiles.component import Component
from profiles.errors import InputError, UnknownNameError
from profiles.hardware import LOCAL_CPU
from profiles.records import ComponentProfile
from profiles.store import ProfileStore
from representations.embedding_components import linear
from tests.planner.distributed.iteration.placed import cluster_of, table_wise
from tests.planner.distributed.iteration.profile_rows import profile

TABLES = tuple(EmbeddingTable(name=name, rows=100, dim=8) for name in ("a", "b"))
JOB = TrainingJob(name="small", tables=TABLES, batch_per_rank=4, bottom=perceptron((3, 8)), top=perceptron((8, 4, 1)))
LAYERS = (linear(4, 3, 8), linear(4, 8, 4))


def with_python(row: ComponentProfile, version: str) -> ComponentProfile:
    return replace(
        row, content_hash=f"{row.content_hash} {version}", fingerprint=replace(row.fingerprint, python=version)
    )


def components(job: TrainingJob = JOB) -> tuple[Component, ...]:
    return job_components(job, table_wise(TABLES, cluster_of()))


def test_layers_come_with_all_their_passes_and_look_ups_with_their_update() -> None:
    phases = [component.phase for component in components()]
    # Three layers, and one look-up: both ranks' are alike.
    assert (phases.count("forward"), phases.count("backward"), phases.count("optimizer")) == (4, 4, 3)
    assert len(components(replace(JOB, dense_optimizer=None))) == 8
    unknown = DenseStack(flops_per_sample=1e6, parameters=1, layers=1)
    assert len(components(replace(JOB, bottom=unknown, top=unknown))) == 2


def test_what_was_measured_here_is_found_and_what_no_memory_holds_is_left_out(tmp_path: Path) -> None:
    wanted = (*LAYERS, linear(10**6, 10**6, 10**6))
    assert measure_components(wanted, tmp_path) == LOCAL_CPU
    stored = stored_times(tmp_path, wanted)
    assert (stored.device, stored.found, stored.of) == (LOCAL_CPU, 2, 3)
    assert (stored.times.seconds(LAYERS[0]) or 0) > 0


def test_of_several_devices_one_must_be_named(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    store.append(profile(LAYERS[0], 1.0))
    assert stored_times(tmp_path, LAYERS).times.seconds(LAYERS[0]) == pytest.approx(1e-3)
    store.append(profile(LAYERS[1], 2.0, device="other"))
    with pytest.raises(InputError, match="holds rows of gpu, other; name one with --device"):
        stored_times(tmp_path, LAYERS)
    assert stored_times(tmp_path, LAYERS, "other").found == 1
    with pytest.raises(UnknownNameError, match=r"--device: rows in .*: unknown name 'tpu'"):
        stored_times(tmp_path, LAYERS, "tpu")


def test_rows_of_another_set_up_are_told(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    store.append(with_python(profile(LAYERS[0], 1.0), "2"))
    store.append(profile(LAYERS[1], 1.0, timestamp="2"))
    # Elsewhere the newest set-up is the measure, here the present one.
    assert stored_times(tmp_path, LAYERS).other_setups == ("1 row of gpu with python 2 (now 3)",)
    store.append(profile(LAYERS[0], 1.0, device=LOCAL_CPU))
    assert "python 3 (now 3." in stored_times(tmp_path, LAYERS, LOCAL_CPU).other_setups[0]


def test_a_store_that_is_empty_or_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no measured row"):
        stored_times(tmp_path, LAYERS)
    with pytest.raises(InputError, match="but there is no"):
        stored_times(tmp_path / "nowhere", LAYERS)
