"""Embedding representations, the models built from them, data sets and training."""

from typing import TYPE_CHECKING

from profiles.lazy import lazy_attributes
from representations.assignment import CompressionOptions, assign_embeddings, with_representation
from representations.components import PlacedComponent, components_of, model_work, work_of
from representations.datasets import Dataset, Splits, load_dataset, split_dataset, zipf_exponents
from representations.ids import check_bags, check_ids
from representations.inputs import check_dense, check_inputs
from representations.metrics import Metrics
from representations.model_provider import RecommendationModels
from representations.presets import get_preset, model_presets
from representations.provider import RecommendationProvider
from representations.specs import (
    DheSpec,
    EmbeddingSpec,
    Feature,
    HybridSpec,
    MixedDimensionSpec,
    ModelSpec,
    QuotientRemainderSpec,
    RobeSpec,
    TableSpec,
    TensorTrainSpec,
    compressed_robe,
    embedding_from_object,
    mixed_dimensions,
    model_from_object,
    toml_text,
)
from representations.target import build_target
from representations.training_config import Checkpoints, TrainingConfig, TrainingProgress, TrainingResult

if TYPE_CHECKING:
    from representations.build import build_model
    from representations.deepfm import DeepFm
    from representations.dhe import choose_decoder_precision, set_deduplication, set_streaming
    from representations.dlrm import Dlrm
    from representations.embedding import build_embedding
    from representations.model import RecommendationModel
    from representations.model_file import load_model, save_model
    from representations.progress_bar import training_bar
    from representations.tables.fbgemm import fuse_optimizers
    from representations.tables.quantise import quantise_model
    from representations.training import predict, train

__all__ = [
    "Checkpoints",
    "CompressionOptions",
    "Dataset",
    "DeepFm",
    "DheSpec",
    "Dlrm",
    "EmbeddingSpec",
    "Feature",
    "HybridSpec",
    "Metrics",
    "MixedDimensionSpec",
    "ModelSpec",
    "PlacedComponent",
    "QuotientRemainderSpec",
    "RecommendationModel",
    "RecommendationModels",
    "RecommendationProvider",
    "RobeSpec",
    "Splits",
    "TableSpec",
    "TensorTrainSpec",
    "TrainingConfig",
    "TrainingProgress",
    "TrainingResult",
    "assign_embeddings",
    "build_embedding",
    "build_model",
    "build_target",
    "check_bags",
    "check_dense",
    "check_ids",
    "check_inputs",
    "choose_decoder_precision",
    "components_of",
    "compressed_robe",
    "embedding_from_object",
    "fuse_optimizers",
    "get_preset",
    "load_dataset",
    "load_model",
    "mixed_dimensions",
    "model_from_object",
    "model_presets",
    "model_work",
    "predict",
    "quantise_model",
    "save_model",
    "set_deduplication",
    "set_streaming",
    "split_dataset",
    "toml_text",
    "train",
    "training_bar",
    "with_representation",
    "work_of",
    "zipf_exponents",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "DeepFm": "representations.deepfm",
        "Dlrm": "representations.dlrm",
        "RecommendationModel": "representations.model",
        "build_embedding": "representations.embedding",
        "build_model": "representations.build",
        "choose_decoder_precision": "representations.dhe",
        "fuse_optimizers": "representations.tables.fbgemm",
        "load_model": "representations.model_file",
        "predict": "representations.training",
        "quantise_model": "representations.tables.quantise",
        "save_model": "representations.model_file",
        "set_deduplication": "representations.dhe",
        "set_streaming": "representations.dhe",
        "train": "representations.training",
        "training_bar": "representations.progress_bar",
    },
)
