"""The benchmarks of whole-model predictions run on small things; nothing here is timed."""

from dataclasses import replace

import pytest

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.composition import CostModel
from profiles.hardware import get_hardware
from profiles.sweep_options import SweepOptions
from representations.components import work_of
from representations.presets import get_preset
from representations.torchrec_models import deepfm
from tests.benchmarks import foreign_models, whole_model_speed
from tests.benchmarks.pass_context import OWN_MODELS


def test_predictions_by_column_are_those_one_by_one() -> None:
    cost_model = CostModel(models={"gpu": RooflineDeviceModel(hardware=get_hardware("v100"), work=work_of)})
    figures = whole_model_speed.prediction_speed(cost_model, "gpu", get_preset("dlrm-flights"), count=50, rounds=1)
    assert figures["largest_difference"] < 1e-12
    assert figures["whole_model_predictions_per_s"] > 0
    page = whole_model_speed.BENCHMARK.describe({"rows": [{"features_of": "dlrm-flights", **figures}]})
    assert "dlrm-flights (9 features)" in page[1]


@pytest.mark.slow
def test_a_torchrec_model_stands_beside_its_measurement() -> None:
    model = deepfm()
    small = replace(model, features=tuple(replace(one, cardinality=40, pooling=2.0) for one in model.features[:2]))
    options = SweepOptions(seconds_per_visit=0.001, max_seconds_per_visit=0.02, least_gap_s=0.0)
    figures = foreign_models.figures_of({"small": small}, (4,), options, OWN_MODELS[:2])
    (row,) = figures["rows"]
    assert row["predicted_ms"] > 0
    assert row["error"] == pytest.approx(row["predicted_ms"] / row["measured_ms"] - 1)
    assert sum(row["kinds"].values()) == pytest.approx(row["sum_ms"])
    assert "small" in foreign_models.BENCHMARK.describe(figures)[1]
