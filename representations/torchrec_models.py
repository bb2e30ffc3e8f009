"""torchrec's own models as profiling targets: the DeepFM and the DLRM that come with that package.

Table sizes are chosen here; the modules, and the `KeyedJaggedTensor` that they take, are torchrec's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from profiles.errors import MeasurementError
from profiles.providers.target import InputBatch, Target
from representations.presets import get_preset
from representations.specs import BYTES_PER_FLOAT, Feature
from representations.target import TABLE_BUDGET_BYTES, common_row_limit, scaled_target
from representations.tracing_notice import silence_tracing_notice
from representations.zipf import sample_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import nn

__all__ = ["TorchrecModel", "deepfm", "dlrm", "torchrec_target", "whole_module"]

# From the collection of embedding bags (torchrec's, untyped) to the model.
Build = Callable[[Any], "nn.Module"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TorchrecModel:
    """One of torchrec's models: `build` puts it around the tables of `features`, which are all `dim` wide.

    A bag holds `pooling` ids, or where `varying` between none and twice as many.
    """

    name: str
    dense_features: int
    features: tuple[Feature, ...]
    dim: int
    build: Build
    varying: bool = False


def deepfm() -> TorchrecModel:
    """`SimpleDeepFMNN` in the shape of our own `deepfm-bench`, with bags of 0 to 20 ids."""
    spec = get_preset("deepfm-bench")

    def build(tables: Any) -> "nn.Module":
        from torchrec.models.deepfm import SimpleDeepFMNN

        model: nn.Module = SimpleDeepFMNN(
            num_dense_features=spec.dense_features,
            embedding_bag_collection=tables,
            hidden_layer_size=spec.bottom_mlp[0],
            deep_fm_dimension=spec.deep_mlp[0],
        )
        return model

    return TorchrecModel(
        name="deepfm",
        dense_features=spec.dense_features,
        features=spec.features,
        dim=spec.bottom_mlp[-1],
        build=build,
        varying=True,
    )


def dlrm() -> TorchrecModel:
    """Torchrec's `DLRM` in the shape of our own `dlrm-bench`: 1,192,919,040 FLOPs at batch 256."""
    spec = get_preset("dlrm-bench")

    def build(tables: Any) -> "nn.Module":
        from torchrec.models.dlrm import DLRM

        model: nn.Module = DLRM(
            embedding_bag_collection=tables,
            dense_in_features=spec.dense_features,
            dense_arch_layer_sizes=list(spec.bottom_mlp),
            over_arch_layer_sizes=list(spec.top_mlp),
        )
        return model

    return TorchrecModel(
        name="torchrec-dlrm",
        dense_features=spec.dense_features,
        features=spec.features,
        dim=spec.bottom_mlp[-1],
        build=build,
    )


def torchrec_target(
    model: TorchrecModel, *, batch: int = 256, seed: int = 0, zipf: float = 1.0, budget_bytes: int = TABLE_BUDGET_BYTES
) -> Target:
    """The model with random weights, in evaluation mode, and Zipf-distributed ids; large tables are cut to fit.

    Raises:
        MeasurementError: torchrec is not installed.
    """
    import torch

    rows = [feature.cardinality for feature in model.features]
    limit = common_row_limit(
        rows, lambda most: sum(min(most, count) for count in rows) * model.dim * BYTES_PER_FLOAT, budget_bytes
    )
    built = replace(model, features=_limited(model.features, limit))

    def inputs(samples: int) -> InputBatch:
        return _inputs(built, samples, seed, zipf)

    with torch.random.fork_rng(devices=()):
        torch.default_generator.manual_seed(seed)
        module = _module(built, "cpu")
    asked_for = whole_module(model)
    cut = limit if limit < max(rows) else None
    return scaled_target(model.name, module.eval(), inputs, batch=batch, asked_for=asked_for, cut_to_rows=cut)


def whole_module(model: TorchrecModel) -> "nn.Module":
    """The model in its whole size on the meta device: shapes without memory.

    Raises:
        MeasurementError: torchrec is not installed.
    """
    return _module(model, "meta")


def _module(model: TorchrecModel, device: str) -> "nn.Module":
    import torch

    try:
        from torchrec import EmbeddingBagCollection, EmbeddingBagConfig
    except ImportError as error:
        raise MeasurementError(f"{model.name}: needs torchrec, which cannot be imported: {error}") from error
    tables = [
        EmbeddingBagConfig(
            name=feature.name,
            embedding_dim=model.dim,
            num_embeddings=feature.cardinality,
            feature_names=[feature.name],
        )
        for feature in model.features
    ]
    with torch.device(device):
        return model.build(EmbeddingBagCollection(tables=tables, device=torch.device(device)))


def _inputs(model: TorchrecModel, samples: int, seed: int, zipf: float) -> InputBatch:
    import torch
    from torchrec import KeyedJaggedTensor

    silence_tracing_notice()
    rng = np.random.default_rng(seed)
    dense_BF = torch.from_numpy(rng.standard_normal((samples, model.dense_features), dtype=np.float32))
    lengths_SB = [_bag_lengths(rng, feature, samples, varying=model.varying) for feature in model.features]
    ids = [
        sample_ids(rng, feature.cardinality, zipf, int(lengths_B.sum()))
        for feature, lengths_B in zip(model.features, lengths_SB, strict=True)
    ]
    bags = KeyedJaggedTensor(
        keys=[feature.name for feature in model.features],
        values=torch.from_numpy(np.concatenate(ids)),
        lengths=torch.from_numpy(np.concatenate(lengths_SB)),
    )
    return InputBatch(args=(dense_BF, bags))


def _bag_lengths(rng: np.random.Generator, feature: Feature, samples: int, *, varying: bool) -> "NDArray[np.int64]":
    if not varying:
        return np.full(samples, round(feature.pooling), dtype=np.int64)
    return rng.integers(0, 2 * round(feature.pooling), samples, endpoint=True)


def _limited(features: Sequence[Feature], rows: int) -> tuple[Feature, ...]:
    return tuple(replace(feature, cardinality=min(feature.cardinality, rows)) for feature in features)
