"""From a spec to a model, repeatably."""

from collections.abc import Callable, Mapping

import torch

from representations.deepfm import DeepFm
from representations.dlrm import Dlrm
from representations.model import RecommendationModel
from representations.specs import Architecture, ModelSpec

__all__ = ["build_model"]

_ARCHITECTURES: Mapping[Architecture, Callable[[ModelSpec, int], RecommendationModel]] = {
    "dlrm": Dlrm,
    "deepfm": DeepFm,
}


def build_model(spec: ModelSpec, seed: int = 0, *, device: str = "cpu") -> RecommendationModel:
    """The model with weights drawn from `seed`; torch's own generator is left as it was.

    On device `meta` nothing is allocated, so that a model of any size can be inspected.
    """
    with torch.random.fork_rng(devices=()), torch.device("cpu" if device != "meta" else "meta"):
        torch.default_generator.manual_seed(seed)
        return _ARCHITECTURES[spec.architecture](spec, seed).to(device)
