"""The rows of a model's profile, from what was seen and timed of its modules."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from profiles.aggregation import add_latencies, sum_of, weighted_mfu
from profiles.capture import Observation
from profiles.in_situ import InSituTimes
from profiles.isolation import IsolatedRun
from profiles.model_profile import SELF_KIND, SELF_NAME
from profiles.records import ComponentProfile, Fingerprint
from profiles.traffic import state_bytes, tensors_of
from profiles.tree import ModuleNode
from profiles.utilisation import bandwidth_share, model_flops_share

__all__ = ["NEVER_CALLED", "Measurements", "profile_rows"]

NEVER_CALLED = "never called in the forward pass"
Rows = list[ComponentProfile]


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurements:
    """What one walk gathered; the tuples are by node index, `cold` is empty where it was not asked for."""

    nodes: tuple[ModuleNode, ...]
    observed: tuple[Observation, ...]
    in_situ: InSituTimes
    warm: tuple[IsolatedRun, ...]
    cold: tuple[IsolatedRun, ...]
    fingerprint: Fingerprint


def profile_rows(found: Measurements) -> tuple[ComponentProfile, ...]:
    """The rows in tree order; children are made before their parents, which may need their sums."""
    waiting: dict[int, list[Rows]] = {}
    for node in reversed(found.nodes):
        children = waiting.pop(node.index, [])[::-1]
        row = _row(found, node, [rows[0] for rows in children])
        own = [_self_row(found, node, row)] if children and row.calls else []
        subtree = [row, *own, *(line for rows in children for line in rows)]
        if node.parent is None:
            return tuple(subtree)
        waiting.setdefault(node.parent, []).append(subtree)
    return ()


def _row(found: Measurements, node: ModuleNode, children: Rows) -> ComponentProfile:
    seen, run = found.observed[node.index], found.warm[node.index]
    row = replace(
        _blank_row(found, node),
        in_situ=found.in_situ.inclusive(node.index),
        warm=run.latency(),
        cold=found.cold[node.index].latency() if found.cold else None,
        flops=seen.flops if seen.calls else None,
        bytes_moved=sum_of([child.bytes_moved for child in children]) if children else seen.bytes_moved,
        parameter_bytes=state_bytes(node.module) if node.first_path is None else 0,
    )
    if row.warm is None:
        return _aggregated(row, children, run.failure or NEVER_CALLED)
    latency_ms = row.warm.median_ms
    return replace(
        row,
        mfu=model_flops_share(row.flops, latency_ms, row.device, row.dtype),
        bandwidth_share=bandwidth_share(row.bytes_moved, latency_ms, row.device),
    )


def _aggregated(row: ComponentProfile, children: Rows, reason: str) -> ComponentProfile:
    known = [child for child in children if child.provenance != "skipped"]
    if not known:
        return replace(row.skipped(reason), flops=None)
    return replace(
        row,
        provenance="aggregated",
        reason=f"{reason}; summed from its children",
        in_situ=row.in_situ or add_latencies([child.in_situ for child in known]),
        warm=add_latencies([child.warm for child in known]),
        cold=add_latencies([child.cold for child in known]),
        flops=sum_of([child.flops for child in known]),
        mfu=weighted_mfu(known),
    )


def _self_row(found: Measurements, node: ModuleNode, parent: ComponentProfile) -> ComponentProfile:
    flops, own = found.observed[node.index].self_flops, found.in_situ.own(node.index)
    path = f"{node.path}.{SELF_NAME}" if node.path else SELF_NAME
    row = replace(
        parent,
        path=path,
        kind=SELF_KIND,
        depth=parent.depth + 1,
        content_hash=_content_hash(path, parent.spec, found.fingerprint),
        provenance="measured",
        reason="in the model: its parent minus the modules that it calls",
        in_situ=own,
        warm=None,
        cold=None,
        flops=flops,
        bytes_moved=None,
        parameter_bytes=None,
        mfu=model_flops_share(flops, own.median_ms, parent.device, parent.dtype) if own else None,
        bandwidth_share=None,
    )
    return row if own else replace(row.skipped(parent.reason), flops=None)


def _blank_row(found: Measurements, node: ModuleNode) -> ComponentProfile:
    seen = found.observed[node.index]
    inputs = [call.signature for call in seen.calls]
    spec = json.dumps({"class": type(node.module).__name__, "spec": node.module.extra_repr(), "inputs": inputs})
    tensors = list(tensors_of([(call.args, call.kwargs) for call in seen.calls]))
    return ComponentProfile(
        path=node.path,
        class_name=type(node.module).__name__,
        kind="leaf" if node.is_leaf else "container",
        spec=spec,
        content_hash=_content_hash(node.path, spec, found.fingerprint),
        device=found.fingerprint.device,
        batch=next((tensor.shape[0] for tensor in tensors if tensor.ndim and tensor.shape[0]), 1),
        dtype=_dtype_of(node.module, tensors),
        fingerprint=found.fingerprint,
        provenance="measured",
        reason=_sharing(node),
        calls=seen.call_count,
        depth=node.depth,
    )


def _sharing(node: ModuleNode) -> str:
    if node.first_path is not None:
        return f"shares its parameters with {node.first_path}, where they count"
    return f"also at {', '.join(node.aliases)}" if node.aliases else ""


def _content_hash(path: str, spec: str, fingerprint: Fingerprint) -> str:
    return hashlib.sha256(f"{path}|{spec}|{fingerprint.device_key()}".encode()).hexdigest()[:24]


def _dtype_of(module: nn.Module, tensors: Sequence[torch.Tensor]) -> str:
    found = (*module.parameters(), *tensors)
    floats = [tensor.dtype for tensor in found if tensor.is_floating_point()]
    return str(floats[0]).removeprefix("torch.") if floats else "float32"
