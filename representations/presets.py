"""Well-known models by name; cardinalities and layer widths are those of the published DLRM configurations."""

from collections.abc import Callable
from dataclasses import replace

from profiles.registry import Registry
from representations.specs import Feature, ModelSpec, TableSpec

__all__ = ["get_preset", "model_presets"]

model_presets: Registry[Callable[[], ModelSpec]] = Registry("model")

_KAGGLE = (
    1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992, 5461306, 10, 5652,
    2173, 4, 7046547, 18, 15, 286181, 105, 142572,
)  # fmt: skip
_TERABYTE_10M = (
    9980333, 36084, 17217, 7378, 20134, 3, 7112, 1442, 61, 9758201, 1333352, 313829, 10, 2208, 11156, 122, 4, 970, 14,
    9994222, 7267859, 9946608, 415421, 12420, 101, 36,
)  # fmt: skip
_TERABYTE_40M = (
    39884406, 39043, 17289, 7420, 20263, 3, 7120, 1543, 63, 38532951, 2953546, 403346, 10, 2208, 11938, 155, 4, 976,
    14, 39979771, 25641295, 39664984, 585935, 12972, 108, 36,
)  # fmt: skip
_FLIGHTS = {
    "tailnum": 4038,
    "flight": 3836,
    "carrier": 17,
    "origin": 4,
    "dest": 105,
    "hour": 20,
    "minute": 61,
    "month": 13,
    "day": 32,
}


def get_preset(name: str) -> ModelSpec:
    """The model of that name; an `UnknownNameError` lists the known ones."""
    return model_presets.get(name)()


def dlrm_kaggle() -> ModelSpec:
    """The DLRM for Criteo Kaggle: 26 tables of 33.8 M rows together, dim 16."""
    return _criteo("dlrm-kaggle", _KAGGLE, bottom=(512, 256, 64, 16), top=(512, 256, 1))


def dlrm_terabyte_10m() -> ModelSpec:
    """The DLRM for Criteo Terabyte with ids capped at 10 M per feature: 12.58 GB of tables, dim 64."""
    return _criteo("dlrm-terabyte-10m", _TERABYTE_10M, bottom=(512, 256, 64), top=(512, 512, 256, 1))


def dlrm_terabyte_40m() -> ModelSpec:
    """The DLRM for Criteo Terabyte with ids capped at 40 M per feature (MLPerf): 96.1 GB of tables, dim 128."""
    return _criteo("dlrm-terabyte-40m", _TERABYTE_40M, bottom=(512, 256, 128), top=(1024, 1024, 512, 256, 1))


def dlrm_flights() -> ModelSpec:
    """A small DLRM for the bundled flights data; id 0 of every feature stands for the unseen."""
    features = tuple(Feature(name=name, cardinality=rows) for name, rows in _FLIGHTS.items())
    return _tables("dlrm-flights", features, dense_features=1, bottom=(64, 16), top=(64, 1))


def deepfm_flights() -> ModelSpec:
    """A small DeepFM for the bundled flights data."""
    return replace(dlrm_flights(), name="deepfm-flights", interaction="fm", deep_mlp=(64,))


def deepfm_bench() -> ModelSpec:
    """A DeepFM of dense part 1024-4096-512: 26 tables of Criteo Kaggle's rows, 512 wide (69.1 GB), bags of 10 ids."""
    features = tuple(replace(feature, pooling=10.0) for feature in dlrm_kaggle().features)
    tables = _tables("deepfm-bench", features, dense_features=1024, bottom=(4096, 512), top=(1,))
    return replace(tables, interaction="fm", deep_mlp=(512,))


def dlrm_bench() -> ModelSpec:
    """A DLRM of 26 sum-pooled bags of 10 k rows x 64 with 10 ids each: 1,192,919,040 FLOPs at batch 256."""
    features = tuple(Feature(name=f"C{i + 1}", cardinality=10_000, pooling=10.0) for i in range(26))
    return _tables("dlrm-bench", features, dense_features=13, bottom=(512, 256, 64), top=(1024, 1024, 512, 256, 1))


def _criteo(name: str, cardinalities: tuple[int, ...], *, bottom: tuple[int, ...], top: tuple[int, ...]) -> ModelSpec:
    features = tuple(Feature(name=f"C{i + 1}", cardinality=rows) for i, rows in enumerate(cardinalities))
    return _tables(name, features, dense_features=13, bottom=bottom, top=top)


def _tables(
    name: str, features: tuple[Feature, ...], *, dense_features: int, bottom: tuple[int, ...], top: tuple[int, ...]
) -> ModelSpec:
    return ModelSpec(
        name=name,
        dense_features=dense_features,
        features=features,
        embeddings=(TableSpec(dim=bottom[-1]),) * len(features),
        bottom_mlp=bottom,
        top_mlp=top,
        interaction="dot",
    )


for _name, _builder in {
    "deepfm-bench": deepfm_bench,
    "deepfm-flights": deepfm_flights,
    "dlrm-bench": dlrm_bench,
    "dlrm-flights": dlrm_flights,
    "dlrm-kaggle": dlrm_kaggle,
    "dlrm-terabyte-10m": dlrm_terabyte_10m,
    "dlrm-terabyte-40m": dlrm_terabyte_40m,
}.items():
    model_presets.register(_name, _builder)
