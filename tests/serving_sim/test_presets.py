from pathlib import Path

import pytest

from profiles.errors import InputError, UnknownNameError
from serving_sim.engine import simulate
from serving_sim.plan import load_plan
from serving_sim.presets import PRESETS, preset_body
from serving_sim.sizes import mean_size


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_plan_that_runs(name: str) -> None:
    plan = load_plan(Path(name), ["workload.queries=500"])
    assert plan.name == name
    assert simulate(plan).counted == 495


def test_the_workloads_are_the_published_ones() -> None:
    mp_rec, v2, v3 = (load_plan(name).workload for name in ("mp-rec-hw1", "mlperf-dlrm-v2", "mlperf-dlrm-v3"))
    assert (mp_rec.qps, mp_rec.sla_ms, mp_rec.queries) == (1000, 10, 10_000)
    assert mean_size(mp_rec.sizes) == pytest.approx(128)
    assert (v2.sla_ms, v3.sla_ms, v2.percentile, len(v2.sizes.values)) == (60, 80, 99, 20)
    assert v2.queries / v2.qps >= 600
    assert mean_size(v2.sizes) == pytest.approx(v2.sizes.mean)


def test_what_is_neither_a_file_nor_a_preset_names_the_presets() -> None:
    with pytest.raises(InputError, match="mp-rec-hw9: no such file, and no preset; presets: mlperf-dlrm-v2, "):
        load_plan("mp-rec-hw9")
    with pytest.raises(InputError, match=r"none\.json: no such file"):
        load_plan("none.json")
    with pytest.raises(UnknownNameError, match="known: mlperf-dlrm-v2"):
        preset_body("mp-rec")
