"""Small specs that the tests share."""

from representations.specs import DheSpec, EmbeddingSpec, Feature, HybridSpec, Interaction, ModelSpec, TableSpec

TABLE = TableSpec(dim=8)
DHE = DheSpec(dim=8, k=16, widths=(12, 10))
NORMED = DheSpec(dim=8, k=16, widths=(12,), norm="batch", activation="relu", transform="gaussian")
HYBRID = HybridSpec(table=TableSpec(dim=3), dhe=DheSpec(dim=5, k=6, widths=()))


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
    )


MODELS = (
    small_model(TABLE, TABLE),
    small_model(DHE, NORMED, TABLE),
    small_model(HYBRID, HYBRID),
    small_model(TABLE, HYBRID, DHE, interaction="concat"),
    small_model(TABLE, DHE, dense_features=0),
    small_model(TABLE, DHE, HYBRID, pooling=3.0),
)
