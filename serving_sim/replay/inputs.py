"""Inputs of real models for queries of any size, cut from a pool that is drawn beforehand.

Shape suffixes: B samples of a query, R samples of the pool, F dense features, S categorical features, N flat ids.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from representations.specs import Feature, ModelSpec
from representations.zipf import sample_ids
from serving_sim.plan import Ids

if TYPE_CHECKING:
    import torch

__all__ = ["InputPool", "draw_inputs"]

# Samples of the pool, in largest queries.
_QUERIES = 8


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class InputPool:
    """Samples from which a query takes some that follow one another."""

    features: tuple[Feature, ...]
    samples: int
    dense_RF: "torch.Tensor"
    ids_RS: "torch.Tensor | None"
    bags: tuple["torch.Tensor", ...]

    def inputs(self, size: int, place: int) -> tuple[Any, ...]:
        """What a model is called with for `size` samples, from a place that `place` chooses."""
        first = (place * 7919) % (self.samples - size + 1)
        dense_BF = self.dense_RF[first : first + size]
        if self.ids_RS is not None:
            return dense_BF, self.ids_RS[first : first + size]
        return dense_BF, tuple(
            _bag(flat_N, feature.pooling, first, size) for feature, flat_N in zip(self.features, self.bags, strict=True)
        )


def draw_inputs(spec: ModelSpec, ids: Ids, largest: int, seed: int) -> InputPool:
    """A pool for queries of up to `largest` samples; each feature's ids with the skew of the load's.

    The rows are each feature's own. A log says which ids of one table are asked for, of no other: from its exponent by
    distinct ids.
    """
    import torch

    rng, samples, exponent = np.random.default_rng(seed), _QUERIES * largest, _exponent(ids)
    flat = [
        torch.from_numpy(
            sample_ids(rng, feature.cardinality, exponent, max(1, int(np.ceil(samples * feature.pooling))))
        )
        for feature in spec.features
    ]
    is_single = all(feature.pooling == 1 for feature in spec.features)
    return InputPool(
        features=spec.features,
        samples=samples,
        dense_RF=torch.from_numpy(rng.standard_normal((samples, spec.dense_features), dtype=np.float32)),
        ids_RS=torch.stack(flat, dim=1) if is_single else None,
        bags=() if is_single else tuple(flat),
    )


def _exponent(ids: Ids) -> float:
    if ids.kind == "log":
        from representations.datasets.access_log import load_access_log
        from representations.zipf import fit_log_exponent

        return fit_log_exponent(load_access_log(ids.source))
    return ids.exponent if ids.kind == "zipf" else 0.0


def _bag(flat_N: "torch.Tensor", pooling: float, first: int, size: int) -> tuple["torch.Tensor", "torch.Tensor"]:
    """Flat ids [N] and where each sample's begin [B]."""
    import torch

    edges = (torch.arange(first, first + size + 1, dtype=torch.float64) * pooling).floor().long()
    start, end = int(edges[0]), int(edges[-1])
    return flat_N[start:end], edges[:-1] - start
