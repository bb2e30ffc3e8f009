"""What a model is made of, as frozen plain data: features, the representation of each, MLPs, interaction.

Sizes follow from the specs alone, so that a model of 96 GB can be planned without being built.
FLOPs count 2 per multiply-accumulate; parameter bytes are exact and equal those of the built module (buffers that the
forward pass needs, such as hash coefficients, included).
"""

from representations.specs.dhe import Activation, DheSpec, Norm, Transform
from representations.specs.embedding import EmbeddingSpec, embedding_from_object, embedding_object
from representations.specs.feature import Feature
from representations.specs.hybrid import HybridSpec
from representations.specs.mixed_dimension import MixedDimensionSpec, mixed_dimensions
from representations.specs.model import Architecture, Interaction, ModelSpec, model_from_object, table_groups
from representations.specs.quotient_remainder import Combination, QuotientRemainderSpec
from representations.specs.reduced_table import KeptBy, ReducedTableSpec
from representations.specs.robe import ROBE_PRIME, RobeSpec, compressed_robe
from representations.specs.sizes import BYTES_PER_FLOAT, BYTES_PER_HASH, BYTES_PER_ROW_NUMBER
from representations.specs.table import TableBackend, TableDtype, TableSpec
from representations.specs.tensor_train import TensorTrainSpec, dim_factors, row_factors
from representations.specs.toml import toml_text

__all__ = [
    "BYTES_PER_FLOAT",
    "BYTES_PER_HASH",
    "BYTES_PER_ROW_NUMBER",
    "ROBE_PRIME",
    "Activation",
    "Architecture",
    "Combination",
    "DheSpec",
    "EmbeddingSpec",
    "Feature",
    "HybridSpec",
    "Interaction",
    "KeptBy",
    "MixedDimensionSpec",
    "ModelSpec",
    "Norm",
    "QuotientRemainderSpec",
    "ReducedTableSpec",
    "RobeSpec",
    "TableBackend",
    "TableDtype",
    "TableSpec",
    "TensorTrainSpec",
    "Transform",
    "compressed_robe",
    "dim_factors",
    "embedding_from_object",
    "embedding_object",
    "mixed_dimensions",
    "model_from_object",
    "row_factors",
    "table_groups",
    "toml_text",
]
