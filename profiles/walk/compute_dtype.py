"""Rows of modules whose products run in another type than their parameters have."""

from collections.abc import Mapping
from dataclasses import replace

from profiles.records import ComponentProfile
from profiles.utilisation import model_flops_share
from profiles.walk.module_part import ModulePart

__all__ = ["with_compute_dtype"]


def with_compute_dtype(part: ModulePart, dtypes: Mapping[str, str]) -> ModulePart:
    """The part with the type by whose peak its MFU is to be taken; `dtypes` are those of products by parameters'."""
    if part.row.dtype not in dtypes:
        return part
    dtype = dtypes[part.row.dtype]
    return replace(part, row=replace(part.row, dtype=dtype), own=part.own and _own_row(part.own, dtype))


def _own_row(own: ComponentProfile, dtype: str) -> ComponentProfile:
    latency = own.in_situ
    mfu = model_flops_share(own.flops, latency.median_ms, own.device, dtype) if latency else None
    return replace(own, dtype=dtype, mfu=mfu)
