"""Models A, F and I of Mudigere et al. (arXiv 2104.05158), as far as they are published, and the rest as assumptions.

Published are parameters, FLOPs per sample of A, and throughputs of A and F. FLOPs of F and I come from a third party's
fact sheet; dims, pooling and layers are recalled, and agree with other public configurations. How many tables there are
is not published, nor how their sizes differ: those are fields of `Assumptions`, to be varied.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from planner.distributed.iteration.dense_stack import DenseStack
from planner.distributed.iteration.training_job import CollectiveDtype, TrainingJob
from planner.distributed.tables import EmbeddingTable, TableDtype
from profiles.errors import InputError, UnknownNameError

__all__ = ["PAPER_MODELS", "Assumptions", "PaperModel", "paper_job", "paper_tables"]

_GRAIN = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperModel:
    """`published_qps` is on 128 GPUs; None of a figure that is only recalled, which then is `recalled_qps`.

    `tables` is the number at which the published equations come near the published throughput: a fit, not a fact.
    """

    name: str
    parameters: float
    flops_per_sample: float
    mean_dim: int
    pooling: float
    layers: int
    width: int
    tables: int
    published_qps: float | None = None
    recalled_qps: float | None = None


PAPER_MODELS: Mapping[str, PaperModel] = {
    "A": PaperModel(
        name="A",
        parameters=793e9,
        flops_per_sample=638e6,
        mean_dim=93,
        pooling=15,
        layers=20,
        width=3375,
        tables=1000,
        published_qps=1.2e6,
    ),
    "F": PaperModel(
        name="F",
        parameters=12e12,
        flops_per_sample=5e6,
        mean_dim=256,
        pooling=20,
        layers=7,
        width=490,
        tables=64,
        published_qps=1.7e6,
    ),
    "I": PaperModel(
        name="I",
        parameters=332e9,
        flops_per_sample=60e6,
        mean_dim=92,
        pooling=70,
        layers=43,
        width=682,
        tables=512,
        recalled_qps=3.4e6,
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Assumptions:
    """What the paper leaves open.

    `tables` None takes the model's own number. `spread` is the sigma of log-normal rows, dims and pooling around their
    means; 0 makes all tables alike. `flops` says what the published FLOPs per sample are: those of the `forward` pass,
    or of the `whole` iteration (three times as many). `dense_parameters` follow from them (`flops`: half a parameter a
    FLOP of the forward pass) or from the recalled `layers`. `bottom_share` of the dense part lies before the
    interaction. `zipf` is the exponent of ids.
    """

    tables: int | None = None
    spread: float = 0.0
    flops: Literal["forward", "whole"] = "forward"
    dense_parameters: Literal["flops", "layers"] = "layers"
    bottom_share: float = 0.5
    zipf: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.tables is not None and self.tables < 1:
            raise InputError(f"tables: must be >= 1, but got {self.tables}")
        if not (self.spread >= 0 and 0 <= self.bottom_share <= 1):
            raise InputError(
                f"spread must be >= 0 and bottom_share in [0, 1], but got {self.spread} and {self.bottom_share}"
            )


def paper_tables(
    name: str,
    assumptions: Assumptions | None = None,
    *,
    dtype: TableDtype = "float16",
    row_share: float = 1.0,
) -> tuple[EmbeddingTable, ...]:
    """The embedding tables of a model; `row_share` of all rows, where fewer devices have to hold them.

    Raises:
        UnknownNameError: there is no such model.
    """
    model, chosen = _model(name), assumptions or Assumptions()
    count = chosen.tables or model.tables
    rng = np.random.default_rng(chosen.seed)
    drawn = np.exp(rng.normal(0.0, chosen.spread, (3, count))) if chosen.spread else np.ones((3, count))
    drawn /= drawn.mean(axis=1, keepdims=True)
    dims = drawn[0] * model.mean_dim
    if chosen.spread:
        dims = np.maximum(_GRAIN, np.rint(dims / _GRAIN) * _GRAIN)
    pooling = drawn[1] * model.pooling
    rows = drawn[2] * model.parameters * row_share / float(drawn[2] @ dims)
    return tuple(
        EmbeddingTable(
            name=f"t{i}",
            rows=max(1, round(float(rows[i]))),
            dim=round(float(dims[i])),
            pooling=float(pooling[i]),
            dtype=dtype,
            optimizer="rowwise_adagrad",
            zipf=chosen.zipf,
        )
        for i in range(count)
    )


def paper_job(
    name: str,
    assumptions: Assumptions | None = None,
    *,
    batch_per_rank: int = 512,
    collectives: tuple[CollectiveDtype, CollectiveDtype] = ("float16", "bfloat16"),
    table_dtype: TableDtype = "float16",
    row_share: float = 1.0,
) -> TrainingJob:
    """One iteration of a model by the paper's equations: look-ups beside matrix products, both kinds of collective.

    512 samples a GPU are the paper's 64K on 128. Dense features are not published, and so taken to be none.

    Raises:
        UnknownNameError: there is no such model.
    """
    model, chosen = _model(name), assumptions or Assumptions()
    forward_flops = model.flops_per_sample / (3 if chosen.flops == "whole" else 1)
    parameters = forward_flops / 2 if chosen.dense_parameters == "flops" else model.layers * model.width**2
    bottom = max(1, min(model.layers - 1, round(model.layers * chosen.bottom_share)))

    def stack(share: float, layers: int) -> DenseStack:
        return DenseStack(
            flops_per_sample=forward_flops * share,
            parameters=round(parameters * share),
            layers=layers,
            activations_per_sample=2.0 * layers * model.width,
        )

    return TrainingJob(
        name=f"model {name}",
        tables=paper_tables(name, chosen, dtype=table_dtype, row_share=row_share),
        batch_per_rank=batch_per_rank,
        bottom=stack(chosen.bottom_share, bottom),
        top=stack(1 - chosen.bottom_share, model.layers - bottom),
        compute_dtype="tf32",
        forward_dtype=collectives[0],
        backward_dtype=collectives[1],
        lookups_beside_dense=True,
    )


def _model(name: str) -> PaperModel:
    if name not in PAPER_MODELS:
        raise UnknownNameError("model", name, PAPER_MODELS)
    return PAPER_MODELS[name]
