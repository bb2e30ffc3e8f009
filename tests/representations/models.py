"""Small specs that the tests share."""

from representations.specs import (
    DheSpec,
    EmbeddingSpec,
    Feature,
    HybridSpec,
    Interaction,
    MixedDimensionSpec,
    ModelSpec,
    QuotientRemainderSpec,
    ReducedTableSpec,
    RobeSpec,
    TableSpec,
    TensorTrainSpec,
)

TABLE = TableSpec(dim=8)
DHE = DheSpec(dim=8, k=16, widths=(12, 10))
NORMED = DheSpec(dim=8, k=16, widths=(12,), norm="batch", activation="relu", transform="gaussian")
HYBRID = HybridSpec(table=TableSpec(dim=3), dhe=DheSpec(dim=5, k=6, widths=()))

PRODUCT = QuotientRemainderSpec(dim=8, collisions=7, threshold_rows=10)
ADDED = QuotientRemainderSpec(dim=8, operation="add", threshold_rows=10)
JOINED = QuotientRemainderSpec(dim=4, operation="concat", threshold_rows=35)
NARROW = MixedDimensionSpec(dim=8, inner_dim=2)
TRAIN = TensorTrainSpec(dim=8, rank=3)
ROBE = RobeSpec(dim=8, floats=101, block=3)
HASHED = ReducedTableSpec(dim=8, rows=11)
FREQUENT = ReducedTableSpec(dim=8, rows=12, kept_by="frequency", dtype="float16")
FUSED = TableSpec(dim=8, backend="fbgemm")


def small_model(
    *embeddings: EmbeddingSpec, interaction: Interaction = "dot", dense_features: int = 2, pooling: float = 1.0
) -> ModelSpec:
    """A model with one feature per embedding, of 30, 40, ... rows."""
    return ModelSpec(
        name="small",
        dense_features=dense_features,
        features=tuple(Feature(name=f"f{i}", cardinality=30 + 10 * i, pooling=pooling) for i in range(len(embeddings))),
        embeddings=embeddings,
        bottom_mlp=(6, 8) if dense_features else (),
        top_mlp=(7, 1),
        interaction=interaction,
        deep_mlp=(9, 5) if interaction == "fm" else (),
    )


MODELS = (
    small_model(TABLE, TABLE),
    small_model(DHE, NORMED, TABLE),
    small_model(HYBRID, HYBRID),
    small_model(TABLE, HYBRID, DHE, interaction="concat"),
    small_model(TABLE, DHE, dense_features=0),
    small_model(TABLE, DHE, HYBRID, pooling=3.0),
    small_model(PRODUCT, ADDED, JOINED),
    small_model(JOINED, PRODUCT, ADDED, pooling=3.0),
    small_model(NARROW, MixedDimensionSpec(dim=8, inner_dim=8), pooling=2.0),
    small_model(TRAIN, TensorTrainSpec(dim=8, rank=2, row_factors=(9, 5), dim_factors=(2, 4)), TABLE),
    small_model(ROBE, TABLE, ROBE, interaction="concat", pooling=2.0),
    small_model(FUSED, DHE, FUSED, pooling=2.0),
    small_model(TABLE, TRAIN, ROBE, interaction="fm"),
    small_model(PRODUCT, NARROW, interaction="fm", dense_features=0),
    small_model(HASHED, FREQUENT, TABLE),
    small_model(HASHED, FREQUENT, pooling=2.0),
)
