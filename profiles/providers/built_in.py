"""The models that come with the profiler, by name."""

from collections.abc import Callable
from functools import partial

from profiles.errors import UnknownNameError
from profiles.providers.models import model_providers
from profiles.providers.target import InputBatch, Target

__all__ = ["BuiltInModels"]

_SEQUENCES, _TOKENS = 2, 128


class BuiltInModels:
    """`nanogpt`: GPT-2 small's shape at 2 x 128 tokens, random weights, evaluation mode."""

    def names(self) -> tuple[str, ...]:
        """What can be loaded."""
        return tuple(sorted(_LOADERS))

    def load(self, name: str) -> Target:
        """The model with one batch."""
        if name not in _LOADERS:
            raise UnknownNameError("model", name, _LOADERS)
        return _LOADERS[name]()


def _nanogpt() -> Target:
    from profiles.models.nanogpt import NanoGptConfig, build_nanogpt

    config = NanoGptConfig()
    resized = partial(_token_batch, config.vocabulary)
    return Target(name="nanogpt", model=build_nanogpt(config), batches=(resized(_SEQUENCES),), resized=resized)


def _token_batch(vocabulary: int, sequences: int) -> InputBatch:
    import torch

    generator = torch.Generator().manual_seed(0)
    return InputBatch(args=(torch.randint(vocabulary, (sequences, _TOKENS), generator=generator),))


_LOADERS: dict[str, Callable[[], Target]] = {"nanogpt": _nanogpt}

model_providers.register("profiles", BuiltInModels())
