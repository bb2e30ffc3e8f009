"""Embedding representations, the models built from them, data sets and training."""

from typing import TYPE_CHECKING

from profiles.lazy import lazy_attributes
from representations.assignment import assign_embeddings, with_representation
from representations.components import PlacedComponent, components_of, model_work, work_of
from representations.datasets import Dataset, Splits, load_dataset, split_dataset, zipf_exponents
from representations.ids import check_ids
from representations.metrics import Metrics
from representations.model_provider import RecommendationModels
from representations.presets import get_preset, model_presets
from representations.provider import RecommendationProvider
from representations.specs import (
    DheSpec,
    EmbeddingSpec,
    Feature,
    HybridSpec,
    ModelSpec,
    TableSpec,
    embedding_from_object,
    model_from_object,
)
from representations.target import build_target
from representations.training_config import Checkpoints, TrainingConfig, TrainingProgress, TrainingResult

if TYPE_CHECKING:
    from representations.build import build_model
    from representations.dlrm import Dlrm
    from representations.embedding import build_embedding
    from representations.model_file import load_model, save_model
    from representations.progress_bar import training_bar
    from representations.training import predict, train

__all__ = [
    "Checkpoints",
    "Dataset",
    "DheSpec",
    "Dlrm",
    "EmbeddingSpec",
    "Feature",
    "HybridSpec",
    "Metrics",
    "ModelSpec",
    "PlacedComponent",
    "RecommendationModels",
    "RecommendationProvider",
    "Splits",
    "TableSpec",
    "TrainingConfig",
    "TrainingProgress",
    "TrainingResult",
    "assign_embeddings",
    "build_embedding",
    "build_model",
    "build_target",
    "check_ids",
    "components_of",
    "embedding_from_object",
    "get_preset",
    "load_dataset",
    "load_model",
    "model_from_object",
    "model_presets",
    "model_work",
    "predict",
    "save_model",
    "split_dataset",
    "train",
    "training_bar",
    "with_representation",
    "work_of",
    "zipf_exponents",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "Dlrm": "representations.dlrm",
        "build_embedding": "representations.embedding",
        "build_model": "representations.build",
        "load_model": "representations.model_file",
        "predict": "representations.training",
        "save_model": "representations.model_file",
        "train": "representations.training",
        "training_bar": "representations.progress_bar",
    },
)
