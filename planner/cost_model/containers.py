"""The modules that contain a model's components: their calls take time that no component has.

Told by the components' paths: `embeddings.3.dhe.decoder.0` runs inside `embeddings`, `embeddings.3`, and so on.
Embeddings lie in a container of all of them, under its name in either architecture.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from planner.cost_model.estimates import Floats

__all__ = ["container_shares", "containers_of", "embedding_of"]

_EMBEDDINGS = ("embeddings.", "sparse_arch.")


def containers_of(path: str) -> Iterator[str]:
    """The paths of the modules around the one at `path`, the outermost first; the model itself is none of them."""
    names = path.split(".")
    for depth in range(1, len(names)):
        yield ".".join(names[:depth])


def container_shares(paths: Sequence[str]) -> Floats:
    """[P]: each component's shares of its containers, equal among a container's components.

    They sum to the number of containers.
    """
    inside = Counter(container for path in paths for container in containers_of(path))
    return np.array([sum(1 / inside[one] for one in containers_of(path)) for path in paths], dtype=np.float64)


def embedding_of(path: str) -> str:
    """Where the embedding is that the path leads into: `embeddings.3`; empty for what is of none."""
    return ".".join(path.split(".")[:2]) if path.startswith(_EMBEDDINGS) else ""
