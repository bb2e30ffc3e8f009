"""Built-in models as profiling targets: a model that fits this machine, and the inputs of one forward pass."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from profiles.registry import Registry
from representations.presets import get_preset, model_presets
from representations.specs import ModelSpec
from representations.zipf import sample_ids

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from representations.dlrm import Dlrm

__all__ = ["ModelTarget", "build_target", "profile_targets", "random_inputs"]

TABLE_BUDGET_BYTES = 500_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelTarget:
    """A built model and its inputs. `spec` is the model asked for, whose bytes count; `built` has its largest
    features cut to fewer rows where the embeddings would exceed `TABLE_BUDGET_BYTES`.
    """

    name: str
    spec: ModelSpec
    built: ModelSpec
    model: "Dlrm"
    args: tuple[Any, ...]

    @property
    def cut_rows(self) -> int | None:
        """The rows to which the largest tables were cut, None where none was."""
        if self.built == self.spec:
            return None
        return max(feature.cardinality for feature in self.built.features)


profile_targets: "Registry[Callable[[], ModelTarget]]" = Registry("target")


def build_target(
    spec: ModelSpec, *, batch: int = 256, seed: int = 0, zipf: float = 1.0, budget_bytes: int = TABLE_BUDGET_BYTES
) -> ModelTarget:
    """The model of the spec with random weights, in evaluation mode, and Zipf-distributed ids."""
    from representations.build import build_model

    built = _fitted(spec, budget_bytes)
    model = build_model(built, seed)
    model.eval()
    args = random_inputs(built, batch, seed=seed, zipf=zipf)
    return ModelTarget(name=spec.name, spec=spec, built=built, model=model, args=args)


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


def _fitted(spec: ModelSpec, budget_bytes: int) -> ModelSpec:
    """The model with the highest common limit on rows that keeps the budget (a limit of one row where none does)."""
    if spec.embedding_bytes <= budget_bytes:
        return spec
    low, high = 1, max(feature.cardinality for feature in spec.features)
    while high - low > 1:
        middle = (low + high) // 2
        fits = _limited(spec, middle).embedding_bytes <= budget_bytes
        low, high = (middle, high) if fits else (low, middle)
    return _limited(spec, low)


def _limited(spec: ModelSpec, rows: int) -> ModelSpec:
    features = tuple(replace(feature, cardinality=min(feature.cardinality, rows)) for feature in spec.features)
    return replace(spec, features=features)


def _preset_target(name: str) -> ModelTarget:
    return build_target(get_preset(name))


for _name in model_presets:
    profile_targets.register(_name, partial(_preset_target, _name))
