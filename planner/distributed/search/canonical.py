"""An order of tables and ranks that does not depend on how the user listed or numbered them.

The search breaks ties by index. With tables sorted by what they are and ranks by who may lie on them, permuting either
permutes the plan and changes nothing else.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.distributed.cluster import Cluster
from planner.distributed.constraints import TableRules
from planner.distributed.tables import EmbeddingTable

__all__ = ["canonical_ranks", "canonical_tables"]

Integers = NDArray[np.int64]


def canonical_tables(tables: Sequence[EmbeddingTable], rules: Sequence[TableRules]) -> list[int]:
    """The tables' indices, sorted by size, use and rules; names decide between tables alike."""

    def key(index: int) -> tuple[object, ...]:
        table, rule = tables[index], rules[index]
        what = (table.rows, table.dim, table.pooling, table.dtype, table.optimizer, table.zipf or -1.0)
        asked = (sorted(rule.schemes), sorted(rule.tiers), rule.max_shards or 0, rule.together is not None)
        return (*what, *asked, int(rule.ranks_P.sum()), table.name)

    return sorted(range(len(tables)), key=key)


def canonical_ranks(rules: Sequence[TableRules], cluster: Cluster) -> Integers:
    """The rank [P] that stands at each place: nodes, and ranks within them, sorted by the tables they admit."""
    if all(rule.ranks_P.all() for rule in rules):
        return np.arange(cluster.ranks)
    admits_PT = np.stack([rule.ranks_P for rule in rules], axis=1)
    signatures = [row.tobytes() for row in admits_PT]
    devices = cluster.devices_per_node
    nodes = [
        sorted(range(node * devices, (node + 1) * devices), key=lambda rank: signatures[rank])
        for node in range(cluster.nodes)
    ]
    nodes.sort(key=lambda ranks: [signatures[rank] for rank in ranks])
    return np.array(nodes, dtype=np.int64).ravel()
