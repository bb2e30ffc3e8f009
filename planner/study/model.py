"""`[model]`: what every candidate shares: features, MLPs, interaction."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from profiles.edge import STRICT
from profiles.errors import InputError

__all__ = ["FeatureChoice", "ModelSection"]


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureChoice:
    """A categorical column of the data; `cardinality` and `pooling`, where given, must agree with the data."""

    __pydantic_config__: ClassVar = STRICT
    name: str
    cardinality: int | None = None
    pooling: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSection:
    """A DLRM. `features` names the categorical columns to use (all by default), as names or as tables.

    `bottom_mlp` and `top_mlp` are layer widths. Under the dot interaction every embedding must be as wide as the bottom
    MLP's output, so there the last width of `bottom_mlp` follows the candidate's embedding width.
    """

    __pydantic_config__: ClassVar = STRICT
    features: tuple[str | FeatureChoice, ...] | None = None
    interaction: Literal["dot", "concat"] = "dot"
    bottom_mlp: tuple[int, ...] = (64, 16)
    top_mlp: tuple[int, ...] = (64, 1)

    def __post_init__(self) -> None:
        for name in ("bottom_mlp", "top_mlp"):
            widths = getattr(self, name)
            if not widths or min(widths) < 1:
                raise InputError(f"{name}: must be layer widths >= 1, but got {list(widths)}")
        if self.top_mlp[-1] != 1:
            raise InputError(f"top_mlp: must end in 1 (a click's logit), but got {list(self.top_mlp)}")
        if self.features is not None and not self.features:
            raise InputError("features: must name at least one column, or be left out for all")
        names = self.feature_names or ()
        if doubled := {name for name in names if names.count(name) > 1}:
            raise InputError(f"features: each column once, but {sorted(doubled)} come more than once")

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The chosen columns, or None for all."""
        if self.features is None:
            return None
        return tuple(feature if isinstance(feature, str) else feature.name for feature in self.features)
