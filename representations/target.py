"""Models of a spec as profiling targets: one that fits this machine, and the inputs of a forward pass."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from profiles.providers.target import InputBatch, Target
from representations.specs import ModelSpec
from representations.zipf import sample_ids

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["TABLE_BUDGET_BYTES", "build_target", "common_row_limit", "random_inputs", "scaled_target", "true_bytes"]

TABLE_BUDGET_BYTES = 500_000_000


def build_target(
    spec: ModelSpec, *, batch: int = 256, seed: int = 0, zipf: float = 1.0, budget_bytes: int = TABLE_BUDGET_BYTES
) -> Target:
    """The model of the spec with random weights, in evaluation mode, and Zipf-distributed ids.

    Its largest features are cut to fewer rows where the embeddings would exceed the budget; the target knows the
    bytes of the model asked for.
    """
    from representations.build import build_model

    def limited(rows: int) -> ModelSpec:
        features = tuple(replace(feature, cardinality=min(feature.cardinality, rows)) for feature in spec.features)
        return replace(spec, features=features)

    cardinalities = [feature.cardinality for feature in spec.features]
    rows = common_row_limit(cardinalities, lambda limit: limited(limit).embedding_bytes, budget_bytes)
    built = limited(rows)

    def inputs(samples: int) -> InputBatch:
        return InputBatch(args=random_inputs(built, samples, seed=seed, zipf=zipf))

    return scaled_target(
        spec.name,
        build_model(built, seed).eval(),
        inputs,
        batch=batch,
        asked_for=build_model(spec, device="meta"),
        cut_to_rows=rows if rows < max(cardinalities) else None,
    )


def scaled_target(
    name: str,
    model: "nn.Module",
    inputs: Callable[[int], InputBatch],
    *,
    batch: int,
    asked_for: "nn.Module",
    cut_to_rows: int | None,
) -> Target:
    """The target of a model whose largest tables were cut; `asked_for` is the whole model, on the meta device."""
    notes = () if cut_to_rows is None else (f"tables cut to {cut_to_rows:,} rows to fit",)
    return Target(
        name=name,
        model=model,
        batches=(inputs(batch),),
        true_parameter_bytes=true_bytes(asked_for, model),
        notes=notes,
        resized=inputs,
    )


def random_inputs(
    spec: ModelSpec, batch: int, *, seed: int = 0, zipf: float = 0.0
) -> tuple["Tensor", "Tensor | list[Tensor | tuple[Tensor, Tensor]]"]:
    """Dense features [B, F] and ids: [B, S] where every feature is one-hot, else per feature ids or bags."""
    import torch

    rng = np.random.default_rng(seed)
    dense_BF = torch.from_numpy(rng.standard_normal((batch, spec.dense_features), dtype=np.float32))
    columns: list[Tensor | tuple[Tensor, Tensor]] = []
    for feature in spec.features:
        count = max(1, round(batch * feature.pooling))
        ids_N = torch.from_numpy(sample_ids(rng, feature.cardinality, zipf, count))
        offsets_B = torch.from_numpy(np.arange(batch, dtype=np.int64) * count // batch)
        columns.append(ids_N if feature.pooling == 1 else (ids_N, offsets_B))
    one_hot = [column for column in columns if not isinstance(column, tuple)]
    return dense_BF, torch.stack(one_hot, dim=1) if len(one_hot) == len(columns) else columns


def common_row_limit(cardinalities: Sequence[int], bytes_at: Callable[[int], int], budget_bytes: int) -> int:
    """The highest limit on every table's rows that keeps the budget (one row where none does).

    `bytes_at` tells what the tables hold where none has more than so many rows.
    """
    low, high = 1, max(cardinalities)
    if bytes_at(high) <= budget_bytes:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if bytes_at(middle) <= budget_bytes else (low, middle)
    return low


def true_bytes(asked_for: "nn.Module", built: "nn.Module") -> Mapping[str, int]:
    """By module path the bytes of the model asked for, of every module that holds others in the one built."""
    from profiles.counting.traffic import state_bytes

    have = {path: state_bytes(module) for path, module in built.named_modules(remove_duplicate=False)}
    wanted = {path: state_bytes(module) for path, module in asked_for.named_modules(remove_duplicate=False)}
    return {path: size for path, size in wanted.items() if size != have[path]}
