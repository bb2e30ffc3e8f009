"""torch tells once how to ask for its tracing, when torchrec makes its first jagged tensor: nothing a user can mend."""

import logging
from functools import cache

__all__ = ["silence_tracing_notice"]


@cache
def silence_tracing_notice() -> None:
    """Make that first jagged tensor now, an empty one, with the logger of the notice off for so long."""
    import torch
    from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

    logger = logging.getLogger("torch.fx._symbolic_trace")
    was_disabled, logger.disabled = logger.disabled, True
    try:
        nothing = torch.empty(0, dtype=torch.int64, device="cpu")
        KeyedJaggedTensor(keys=[], values=nothing, lengths=nothing)
    finally:
        logger.disabled = was_disabled
