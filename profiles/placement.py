"""A target on the device on which it is to be profiled."""

from dataclasses import replace

import torch

from profiles.measure import move_to
from profiles.providers.target import InputBatch, Target

__all__ = ["placed_target"]


def placed_target(target: Target, device: torch.device) -> Target:
    """The target with its model, which is moved, and its batches on the device."""

    def placed(batch: InputBatch) -> InputBatch:
        return replace(batch, args=move_to(batch.args, device), kwargs=move_to(dict(batch.kwargs), device))

    resized = target.resized
    return replace(
        target,
        model=target.model.to(device),
        batches=tuple(map(placed, target.batches)),
        resized=(lambda samples: placed(resized(samples))) if resized else None,
    )
