from collections.abc import Iterator

import pytest

from profiles.executors.profile_worker import ProfileJob, ProfilingWorker
from profiles.profile_options import ProfileOptions
from profiles.profilers import profilers
from profiles.walk.merging import merge_parts
from tests.profiles.dying_models import plain

MEASURES = ("kineto", "kernels")


@pytest.fixture
def worker() -> Iterator[ProfilingWorker]:
    options, measures = ProfileOptions(threads=1, budget_s=0.1), [profilers.get(name)("") for name in MEASURES]
    job = ProfileJob(load=plain, options=options, profilers=measures)
    worker = ProfilingWorker(job, "local-cpu")
    yield worker
    worker.close()


def test_shares_that_a_worker_measures_make_a_profile(worker: ProfilingWorker) -> None:
    captured = worker.prepare()
    paths = captured.paths
    assert "local-cpu" in captured.device_key
    assert captured.model
    assert paths == ("", "0", "1", "2", "3", "4")
    parts = [worker.measure(share).part for share in (paths[:3], paths[3:])]
    assert [row.provenance for row in merge_parts(parts).modules] == ["measured"] * 6


def test_files_of_profilers_are_delivered(worker: ProfilingWorker) -> None:
    worker.prepare()
    delivery = worker.measure(("0",))
    (module,) = delivery.part.modules
    assert set(module.row.artefacts.values()) == set(delivery.files)
    assert delivery.files
    assert all(delivery.files.values())


def test_shares_of_the_model_are_known_where_others_measure_the_model(worker: ProfilingWorker) -> None:
    worker.prepare()
    (module,) = worker.measure(("2",)).part.modules
    assert module.row.path == "2"
    assert module.row.figures["cpu_time_ms"]


def test_a_module_that_is_given_up_keeps_its_place_and_the_reason(worker: ProfilingWorker) -> None:
    worker.prepare()
    (module,) = worker.given_up("1", "it kills").modules
    assert (module.row.path, module.row.provenance, module.row.reason) == ("1", "skipped", "it kills")
    assert module.is_aggregated


def test_what_takes_too_little_time_is_decided_by_the_shares_that_the_driver_gives() -> None:
    worker = ProfilingWorker(ProfileJob(load=plain, options=ProfileOptions(threads=1, min_share=0.5)), "local-cpu")
    worker.prepare()
    assert set(worker.shares()) == {"", "0", "1", "2", "3", "4"}
    part = worker.measure(("0", "1"), {"0": 0.9, "1": 0.1}).part
    assert [module.row.provenance for module in part.modules] == ["measured", "skipped"]
    assert "takes 10.00% of the model's time" in part.modules[1].row.reason
    worker.close()
