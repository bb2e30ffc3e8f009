"""Recommendation models by name, for the profiler: the presets on our own modules, and torchrec's own models."""

from collections.abc import Callable

from profiles.errors import UnknownNameError
from profiles.providers.models import model_providers
from profiles.providers.target import Target
from representations.presets import get_preset, model_presets
from representations.target import build_target
from representations.torchrec_models import TorchrecModel, deepfm, dlrm, torchrec_target

__all__ = ["RECOMMENDATION_MODELS", "RecommendationModels"]

_TORCHREC: dict[str, Callable[[], TorchrecModel]] = {"deepfm": deepfm, "torchrec-dlrm": dlrm}


class RecommendationModels:
    """`dlrm-kaggle` and the other presets, `deepfm` and `torchrec-dlrm`: random weights, 256 samples of Zipf ids."""

    def names(self) -> tuple[str, ...]:
        """What can be loaded."""
        return tuple(sorted((*model_presets, *_TORCHREC)))

    def load(self, name: str) -> Target:
        """The model with one batch; tables are cut where the model would not fit.

        Raises:
            MeasurementError: one of torchrec's models where torchrec is not installed.
        """
        if name not in self.names():
            raise UnknownNameError("model", name, self.names())
        return torchrec_target(_TORCHREC[name]()) if name in _TORCHREC else build_target(get_preset(name))


RECOMMENDATION_MODELS = model_providers.register("representations", RecommendationModels())
