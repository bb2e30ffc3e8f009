"""How many whole models per second the cost model predicts, by column and one by one."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from planner.cost_model.batch_prediction import CandidatePredictor
from planner.cost_model.candidates import Candidates, DenseSpec
from planner.cost_model.composition import CostModel
from representations.presets import get_preset
from representations.specs import DheSpec, EmbeddingSpec, HybridSpec, ModelSpec, TableSpec
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import significant

__all__ = ["BENCHMARK", "prediction_speed", "random_candidates"]

_BATCH = 512
_INTRODUCTION = """\
Candidates whose every feature chooses its own embedding among 36, within one of nine pairs of MLPs, drawn at random:
predicted by column with all parts priced before, and one by one by `predict_model`. One batch, one core, CPU time."""


def random_candidates(spec: ModelSpec, count: int, seed: int) -> Candidates:
    """Models of the features of `spec` with embeddings drawn per feature, under the concat interaction."""
    rng = np.random.default_rng(seed)
    embeddings: list[EmbeddingSpec] = []
    for dim in (8, 16, 32):
        table = TableSpec(dim=dim)
        dhes = [DheSpec(dim=dim, k=k, widths=(width,)) for k in (16, 64, 256) for width in (32, 64)]
        embeddings += [table, *dhes, *(HybridSpec(table=table, dhe=dhe) for dhe in dhes[:5])]
    dense = [
        DenseSpec(bottom_mlp=(bottom, 16), top_mlp=(top, 1), interaction="concat")
        for bottom in (32, 64, 128)
        for top in (32, 64, 128)
    ]
    return Candidates(
        features=spec.features,
        dense_features=spec.dense_features,
        embeddings=tuple(embeddings),
        dense=tuple(dense),
        embedding_NF=rng.integers(0, len(embeddings), (count, len(spec.features))),
        dense_N=rng.integers(0, len(dense), count),
    )


def prediction_speed(
    cost_model: CostModel, device: str, spec: ModelSpec, *, count: int = 200_000, rounds: int = 5
) -> Figures:
    """Predictions per second of one core's CPU time, the median of the rounds; the cost model is fitted already."""
    predictor = CandidatePredictor(cost_model, device, _BATCH)
    start = time.process_time()
    predictor.predict(random_candidates(spec, count, seed=0))
    priced_s = time.process_time() - start
    rates = []
    for seed in range(1, rounds + 1):
        candidates = random_candidates(spec, count, seed)
        start = time.process_time()
        costs = predictor.predict(candidates)
        rates.append(count / (time.process_time() - start))
    few = 30
    start = time.process_time()
    one_by_one = [cost_model.predict_model(candidates.model(n), (_BATCH,), device).mean_ms[0] for n in range(few)]
    alone_s = time.process_time() - start
    return {
        "features": len(spec.features),
        "candidates": count,
        "whole_model_predictions_per_s": float(np.median(rates)),
        "slowest_round_per_s": min(rates),
        "first_call_s": priced_s,
        "one_by_one_per_s": few / alone_s,
        "largest_difference": float(np.max(np.abs(costs.mean_ms[:few] / np.array(one_by_one) - 1))),
    }


def _measure(quick: bool) -> Figures:
    from planner.cost_model.catalogue import RooflineDeviceModel
    from profiles.hardware import get_hardware
    from representations.components import work_of

    # Speed is that of gathering, whatever priced the parts: a catalogue device needs no measurements.
    cost_model = CostModel(models={"gpu": RooflineDeviceModel(hardware=get_hardware("v100"), work=work_of)})
    count = 100_000 if quick else 500_000
    specs = [get_preset(name) for name in ("dlrm-flights", "dlrm-kaggle")]
    return {
        "rows": [{"features_of": one.name, **prediction_speed(cost_model, "gpu", one, count=count)} for one in specs]
    }


def _describe(report: Mapping[str, Any]) -> list[str]:
    lines = [
        f"- {row['features_of']} ({row['features']} features): {significant(row['whole_model_predictions_per_s'])} "
        f"predictions per second by column, {significant(row['one_by_one_per_s'])} one by one; the first call, which "
        f"prices all parts, takes {significant(row['first_call_s'])} s for {row['candidates']:,} candidates."
        for row in report["rows"]
    ]
    return [_INTRODUCTION, "\n".join(lines)]


BENCHMARK = Benchmark(
    name="whole_model_speed", title="Whole-model predictions per second", measure=_measure, describe=_describe
)

if __name__ == "__main__":
    main(BENCHMARK)
