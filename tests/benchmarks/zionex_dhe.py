"""MP-Rec's question for ZionEX: what an iteration takes once all tables are deep hash embeddings."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from planner.distributed import EmbeddingTable, get_cluster
from planner.distributed.iteration import IterationTime, TrainingJob, perceptron, predict_iteration
from planner.distributed.whatif import Scenario, planned, with_dhe
from representations.presets import get_preset
from representations.specs import DheSpec
from tests.benchmarks.zionex_fit import Fit
from tests.benchmarks.zionex_row import Row
from tests.benchmarks.zionex_setup import Setting

__all__ = ["PAPER_CHANGE", "dhe_figures", "dhe_rows"]

PAPER_CHANGE = -0.36
_SHAPES = {"1024-128": (1024, (128,)), "1024-256-128": (1024, (256, 128)), "1024-512-256": (1024, (512, 256))}
_BATCHES = (256, 512, 2048, 8192)
_SHAPE = "1024-256-128"
_BATCH = 512


def dhe_figures(batches: Sequence[int] = _BATCHES) -> list[dict[str, Any]]:
    """Of the Terabyte model on 128 GPUs: `batch_per_rank, shape, before_ms, after_ms, change, exposed_comm_share`."""
    rows = []
    for batch in batches:
        scenario = Scenario(job=_terabyte(batch), cluster=get_cluster("zionex"))
        before = predict_iteration(scenario.job, planned(scenario))
        for shape, (k, widths) in _SHAPES.items():
            after = _replaced(scenario, k, widths)
            rows.append(
                {
                    "batch_per_rank": batch,
                    "shape": shape,
                    "before_ms": before.iteration_ms,
                    "after_ms": after.iteration_ms,
                    "change": after.iteration_ms / before.iteration_ms - 1,
                    "exposed_comm_share": before.exposed_comm_share,
                }
            )
    return rows


def dhe_rows(figures: Sequence[dict[str, Any]], fit: Fit) -> list[Row]:
    """The claim beside the Terabyte model, and beside model A."""
    shaped = [row for row in figures if row["shape"] == _SHAPE]
    like = next(row for row in shaped if row["batch_per_rank"] == _BATCH)
    spread = f"{min(row['change'] for row in figures):+.0%} to {max(row['change'] for row in figures):+.0%}"
    setting = fit.applied(Setting())
    scenario = Scenario(job=setting.job, cluster=setting.cluster)
    k, widths = _SHAPES[_SHAPE]
    large = _replaced(scenario, k, widths).iteration_ms / setting.time.iteration_ms - 1
    return [
        Row(
            section="Tables replaced by DHE",
            claim="time of an iteration, Terabyte model, 128 GPUs",
            paper=PAPER_CHANGE,
            ours=like["change"],
            unit="%",
            rests_on=f"MP-Rec gives neither shape nor batch: here DHE {_SHAPE} and {_BATCH} samples a device; "
            f"{like['exposed_comm_share']:.0%} are exposed before, where MP-Rec has 40 %",
            note=f"{spread} over batches and shapes of the table below: AlltoAll goes, layers and their AllReduce come",
        ),
        Row(
            section="Tables replaced by DHE",
            claim="time of an iteration, model A (fitted)",
            paper="not of this model",
            ours=large,
            unit="%",
            rests_on="a decoder for each table, run on each of 15 ids a sample",
            note="pooled ids make DHE dear: a table reads a row where a DHE multiplies matrices",
        ),
    ]


def _terabyte(batch_per_rank: int) -> TrainingJob:
    spec = get_preset("dlrm-terabyte-10m")
    dim = spec.embeddings[0].width
    vectors = len(spec.features) + 1
    return TrainingJob(
        name="DLRM, Terabyte",
        tables=tuple(
            EmbeddingTable(name=feature.name, rows=feature.cardinality, dim=dim, pooling=feature.pooling)
            for feature in spec.features
        ),
        batch_per_rank=batch_per_rank,
        bottom=perceptron((spec.dense_features, *spec.bottom_mlp)),
        top=perceptron((spec.interaction_width, *spec.top_mlp)),
        interaction_flops_per_sample=2.0 * vectors**2 * dim,
        interaction_numbers_per_sample=float(vectors * dim + vectors**2),
        dense_features=spec.dense_features,
    )


def _replaced(scenario: Scenario, k: int, widths: tuple[int, ...]) -> IterationTime:
    changed = with_dhe(DheSpec(dim=1, k=k, widths=widths))(scenario)
    # Layers of one shape run as one batched product for all features, as fused kernels do.
    batched = replace(changed.job.per_id, layers=len(widths) + 1)
    job = replace(changed.job, per_id=batched)
    return predict_iteration(job, planned(replace(changed, job=job)))
