"""From amounts by module to amounts of each module with all in it."""

from collections.abc import Iterable, Sequence

from profiles.walk.tree import ModuleNode

__all__ = ["subtree_sums"]


def subtree_sums(nodes: Sequence[ModuleNode], amounts: Iterable[tuple[int | None, int]]) -> dict[str, int]:
    """By path; what belongs to no node is the model's own."""
    sums = [0] * len(nodes)
    for index, amount in amounts:
        sums[index or 0] += amount
    # Children come after their parents.
    for node in reversed(nodes):
        if node.parent is not None:
            sums[node.parent] += sums[node.index]
    return {node.path: sums[node.index] for node in nodes}
