"""What a host must send to a device for one pass of a model."""

from collections.abc import Sequence
from dataclasses import dataclass

from representations.specs import BYTES_PER_FLOAT, Feature
from representations.work import BYTES_PER_ID

__all__ = ["HostInputs", "inputs_of"]


@dataclass(frozen=True, kw_only=True, slots=True)
class HostInputs:
    """Dense features and ids of a pass over `batch` samples, `sent_bytes` of both; the ids are of so many `tables`."""

    batch: int
    tables: int
    sent_bytes: float


def inputs_of(features: Sequence[Feature], dense_features: int, batch: int) -> HostInputs:
    """Those of a model of ours."""
    ids = sum(feature.pooling for feature in features)
    sent_bytes = batch * (dense_features * BYTES_PER_FLOAT + ids * BYTES_PER_ID)
    return HostInputs(batch=batch, tables=len(features), sent_bytes=sent_bytes)
