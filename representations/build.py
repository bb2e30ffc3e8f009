"""From a spec to a model, repeatably."""

from typing import TYPE_CHECKING

import torch

from representations.dlrm import Dlrm

if TYPE_CHECKING:
    from representations.specs import ModelSpec

__all__ = ["build_model"]


def build_model(spec: "ModelSpec", seed: int = 0, *, device: str = "cpu") -> Dlrm:
    """The model with weights drawn from `seed`; torch's own generator is left as it was.

    On device `meta` nothing is allocated, so that a model of any size can be inspected.
    """
    with torch.random.fork_rng(devices=()), torch.device("cpu" if device != "meta" else "meta"):
        torch.default_generator.manual_seed(seed)
        return Dlrm(spec, seed).to(device)
