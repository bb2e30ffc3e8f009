"""A data set's rows as a model takes them, batch by batch.

Shape suffixes: N samples, B samples of a batch, F dense features, S one-hot features.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from representations.bags import Ids
from representations.datasets.dataset import Dataset

__all__ = ["TrainingRows", "to_tensors"]

_CPU = torch.device("cpu")


class TrainingRows:
    """Dense features [B, F], labels [B], and ids: [B, S] where all features are one-hot, else bags per feature.

    All rows stay in main memory; batches of them are on `device`.
    """

    def __init__(self, dataset: Dataset, device: torch.device = _CPU) -> None:
        self._dense_NF, self._ids_NS, self._labels_N = to_tensors(dataset)
        self._bags, self._device = dataset.bags, device

    def __len__(self) -> int:
        return len(self._labels_N)

    def dense(self, rows: Tensor | slice) -> Tensor:
        """Dense features of these rows."""
        return self._dense_NF[rows].to(self._device)

    def labels(self, rows: Tensor | slice) -> Tensor:
        """Labels of these rows."""
        return self._labels_N[rows].to(self._device)

    def ids(self, rows: Tensor | slice, change: Callable[[Tensor], Tensor] = lambda ids: ids) -> Ids:
        """Ids of these rows, each tensor of them changed as asked."""
        device = self._device
        ids_BS = change(self._ids_NS[rows]).to(device)
        if not self._bags:
            return ids_BS
        places = rows if isinstance(rows, slice) else rows.numpy()
        found = [tuple(map(torch.from_numpy, column.bags_at(places))) for column in self._bags]
        bags = ((change(ids_L).to(device), offsets_B.to(device)) for ids_L, offsets_B in found)
        return [*ids_BS.t().contiguous().unbind(), *bags]


def to_tensors(dataset: Dataset) -> tuple[Tensor, Tensor, Tensor]:
    """Dense features [N, F], one-hot ids [N, S] and labels [N], sharing the data set's memory where contiguous."""
    arrays = (dataset.dense_NF, dataset.ids_NS, dataset.labels_N)
    dense_NF, ids_NS, labels_N = (torch.from_numpy(np.ascontiguousarray(array)) for array in arrays)
    return dense_NF, ids_NS, labels_N
