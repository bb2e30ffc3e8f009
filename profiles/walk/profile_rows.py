"""The rows of a model's profile: of each module what was measured, then what its children come to."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import nn

from profiles.counting.traffic import state_bytes, tensors_of
from profiles.model_profile import SELF_KIND, SELF_NAME, CallProfile
from profiles.profilers.protocol import Figure, Finding
from profiles.records import ComponentProfile, Fingerprint, Latency
from profiles.utilisation import bandwidth_share, model_flops_share
from profiles.walk.aggregation import add_figures, add_latencies, max_of, sum_of
from profiles.walk.capture import Observation
from profiles.walk.module_part import ModulePart
from profiles.walk.subject import Phase
from profiles.walk.tree import ModuleNode

__all__ = ["NEVER_CALLED", "Measured", "assemble", "module_part", "notes_on", "why_never_called"]

# With this a row tells that more bytes are moved than it has, so that no use of bandwidth is taken from them.
PARTIAL = "bytes moved are a partial sum"
NEVER_CALLED = "never called in the forward pass"
_ROW_FIELDS = frozenset(field.name for field in fields(ComponentProfile))
Rows = list[ComponentProfile]


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """What was gathered of one module in one phase.

    `failure` tells why it could not be run alone, `left_out` why it was not meant to be. `true_parameter_bytes` are
    those asked for, of a module that was scaled down to fit.
    """

    node: ModuleNode
    seen: Observation
    fingerprint: Fingerprint
    phase: Phase = "forward"
    preprocessors: tuple[str, ...] = ()
    in_situ: Latency | None = None
    own: Latency | None = None
    findings: tuple[Finding, ...] = ()
    calls: tuple[CallProfile, ...] = ()
    failure: str = ""
    left_out: str = ""
    true_parameter_bytes: int | None = None


def module_part(found: Measured) -> ModulePart:
    """The module's row, that of what it does outside its children, and what profilers found beside figures."""
    row = _row(found)
    own = None if found.node.is_leaf or found.phase == "backward" or not row.calls else _self_row(found, row)
    return ModulePart(
        index=found.node.index,
        parent=found.node.parent,
        row=row,
        own=own,
        is_aggregated=row.provenance == "skipped" and not found.left_out,
        calls=found.calls,
        kernels=tuple(kernel for finding in found.findings for kernel in finding.kernels),
    )


def assemble(parts: Sequence[ModulePart], figures: Sequence[Figure] = ()) -> tuple[ComponentProfile, ...]:
    """The rows in tree order, the forward one first; children are made before their parents, which may need their sums.

    `figures` tell how a parent adds up what profilers found.
    """
    by_index: dict[int, list[ModulePart]] = {}
    for part in parts:
        by_index.setdefault(part.index, []).append(part)
    waiting: dict[int | None, list[tuple[Rows, Rows]]] = {}
    for index in sorted(by_index, reverse=True):
        shown = sorted(by_index[index], key=lambda part: part.row.phase != "forward")
        children = waiting.pop(index, [])[::-1]
        rows = [_with_children(part, [row for heads, _ in children for row in heads], figures) for part in shown]
        own = [part.own for part in shown if part.own and children]
        subtree = [*rows, *own, *(line for _, lines in children for line in lines)]
        waiting.setdefault(shown[0].parent, []).append((rows, subtree))
    return tuple(line for _, lines in reversed(waiting.get(None, [])) for line in lines)


def notes_on(rows: Sequence[ComponentProfile]) -> tuple[str, ...]:
    """What was changed by looking at the model."""
    modules = [row for row in rows if row.kind != SELF_KIND and row.phase == "forward"]
    unseen = [row.path for row in modules if row.calls and row.warm and not row.in_situ]
    if not unseen:
        return ()
    shown = ", ".join(unseen[:3]) + (", ..." if len(unseen) > 3 else "")
    what = "compiled modules and fused paths were taken apart once, or timed passes ended in an error"
    return (f"{what}: {len(unseen)} modules have no time in the model: {shown}",)


def _with_children(part: ModulePart, rows: Rows, figures: Sequence[Figure]) -> ComponentProfile:
    children = [row for row in rows if row.phase == part.row.phase]
    row = _aggregated(part.row, children, figures) if part.is_aggregated else part.row
    moved = sum_of([child.bytes_moved for child in children])
    if moved is None or row.phase != "forward":
        return _with_shares(row)
    unknown = [child for child in children if child.calls and (child.bytes_moved is None or PARTIAL in child.reason)]
    if not unknown:
        return _with_shares(replace(row, bytes_moved=moved))
    told = f"{PARTIAL}, without all of {', '.join(child.path for child in unknown[:3])}{', ...' * (len(unknown) > 3)}"
    shown = _with_shares(replace(row, bytes_moved=None))
    return replace(shown, bytes_moved=moved, reason="; ".join(filter(None, (row.reason, told))))


def _row(found: Measured) -> ComponentProfile:
    node, seen = found.node, found.seen
    is_counted = bool(seen.calls) and not seen.failure and not seen.is_unseen and found.phase == "forward"
    row = replace(
        _blank_row(found),
        in_situ=found.in_situ,
        flops=seen.flops if is_counted else None,
        bytes_moved=seen.bytes_moved if found.phase == "forward" else None,
        parameter_bytes=state_bytes(node.module) if node.first_path is None else 0,
    )
    for finding in found.findings:
        row = _with_finding(row, finding)
    if row.warm is None:
        return row.skipped(found.left_out or found.failure)
    return row


def _with_shares(row: ComponentProfile) -> ComponentProfile:
    """The row with MFU and bandwidth use from its own sums, unless a profiler has measured them."""
    if not row.warm:
        return row
    mfu, moved = row.mfu, row.bandwidth_share
    if mfu is None:
        mfu = model_flops_share(row.flops, row.warm.median_ms, row.device, row.dtype)
    if moved is None:
        moved = bandwidth_share(row.bytes_moved, row.warm.median_ms, row.device)
    return replace(row, mfu=mfu, bandwidth_share=moved)


def _with_finding(row: ComponentProfile, finding: Finding) -> ComponentProfile:
    """Figures that are the row's own fields fill these, all others go to its `figures`."""
    own: dict[str, Any] = {name: value for name, value in finding.figures.items() if name in _ROW_FIELDS}
    further = {name: value for name, value in finding.figures.items() if name not in _ROW_FIELDS}
    return replace(
        row,
        **own,
        figures={**row.figures, **further},
        artefacts={**row.artefacts, **finding.artefacts},
        reason="; ".join(filter(None, (row.reason, *finding.notes))),
    )


def _aggregated(row: ComponentProfile, children: Rows, figures: Sequence[Figure]) -> ComponentProfile:
    known = [child for child in children if child.provenance != "skipped"]
    if not known:
        return row
    left_out = f" without {len(children) - len(known)} of {len(children)}" if len(known) < len(children) else ""
    return replace(
        row,
        provenance="aggregated",
        reason=f"{row.reason}; summed from its children{left_out}",
        in_situ=row.in_situ or add_latencies([child.in_situ for child in known]),
        warm=add_latencies([child.warm for child in known]),
        cold=add_latencies([child.cold for child in known]),
        flops=sum_of([child.flops for child in known]) if row.flops is None else row.flops,
        peak_memory_bytes=max_of([child.peak_memory_bytes for child in known]),
        figures={**row.figures, **add_figures([child.figures for child in known], figures)},
    )


def _self_row(found: Measured, parent: ComponentProfile) -> ComponentProfile:
    flops, own = None if found.seen.is_unseen else found.seen.self_flops, found.own
    path = f"{parent.path}.{SELF_NAME}" if parent.path else SELF_NAME
    row = replace(
        _blank_row(found),
        path=path,
        kind=SELF_KIND,
        depth=parent.depth + 1,
        content_hash=_content_hash(path, found, parent.spec),
        reason="in the model: its parent minus the modules that it calls",
        in_situ=own,
        flops=flops,
        mfu=model_flops_share(flops, own.median_ms, parent.device, parent.dtype) if own else None,
        figures={},
    )
    return row if own else replace(row.skipped(parent.reason), flops=None)


def _blank_row(found: Measured) -> ComponentProfile:
    node, seen = found.node, found.seen
    inputs = [call.signature for call in seen.calls]
    spec = json.dumps({"class": node.class_name, "spec": node.module.extra_repr(), "inputs": inputs})
    tensors = list(tensors_of([(call.args, call.kwargs) for call in seen.calls]))
    return ComponentProfile(
        path=node.path,
        class_name=node.class_name,
        kind="leaf" if node.is_leaf else "container",
        spec=spec,
        content_hash=_content_hash(node.path, found, spec),
        device=found.fingerprint.device,
        batch=round(_mean_batch(seen)),
        dtype=_dtype_of(node.module, tensors),
        fingerprint=found.fingerprint,
        provenance="measured",
        reason="; ".join(filter(None, _remarks(found))),
        phase=found.phase,
        preprocessors=found.preprocessors,
        calls=seen.call_count,
        depth=node.depth,
        figures={} if found.phase == "backward" else _figures(found),
    )


def _batch_sizes(seen: Observation) -> dict[int, tuple[float, int]]:
    """By batch, of those in which the module is called: its weight, and the samples that it gets."""
    found: dict[int, tuple[float, int]] = {}
    for call in seen.calls:
        found.setdefault(call.batch, (call.weight, call.samples))
    return found


def _mean_batch(seen: Observation) -> float:
    """Of several batches the weighted mean, as all figures of a row are."""
    sizes = _batch_sizes(seen).values()
    total = sum(weight for weight, _ in sizes)
    return sum(weight * samples for weight, samples in sizes) / total if total else 1


def _mixed_batches(seen: Observation) -> str:
    sizes = sorted({samples for _, samples in _batch_sizes(seen).values()})
    return f"batch is the weighted mean of {', '.join(map(str, sizes))}" if len(sizes) > 1 else ""


def _figures(found: Measured) -> Mapping[str, float | None]:
    figures = {"touched_rows": found.seen.touched_rows, "true_parameter_bytes": found.true_parameter_bytes}
    return {name: float(value) for name, value in figures.items() if value is not None}


def _remarks(found: Measured) -> tuple[str, ...]:
    """What a reader of the row's figures has to know."""
    node, seen = found.node, found.seen
    is_passed_by = bool(seen.calls) and not found.in_situ and not seen.failure and found.phase == "forward"
    where = (
        f"compiled into {node.enclosure}"
        if node.enclosure is not None
        else "passed by on a fused path, or after an error"
    )
    has_no_flops = bool(seen.calls) and node.is_leaf and not (seen.flops or seen.uncounted or seen.is_unseen)
    return (
        _sharing(node),
        *(f"{name} is tied to {known_as}" for name, known_as in node.tied.items()),
        _mixed_batches(seen),
        f"in the model it is {where}: seen and measured outside of it" if is_passed_by else "",
        f"FLOPs not counted of {', '.join(seen.uncounted)}" if seen.uncounted else "",
        "FLOPs not known: it runs in another thread or outside torch, unseen" if seen.is_unseen else "",
        "no FLOPs, MFU does not apply" if has_no_flops and found.phase == "forward" else "",
    )


def why_never_called(node: ModuleNode, seen: Observation) -> str:
    """The reason for a module without calls to have no figures of its own."""
    if node.enclosure is not None:
        return f"runs inside {node.enclosure}, which is one piece"
    return f"{NEVER_CALLED}, but its parameters are used by another module" if seen.is_used else NEVER_CALLED


def _sharing(node: ModuleNode) -> str:
    if node.first_path is not None:
        return f"shares its parameters with {node.first_path}, where they count"
    return f"also at {', '.join(node.aliases)}" if node.aliases else ""


def _content_hash(path: str, found: Measured, spec: str) -> str:
    mode = "|".join((*((found.phase,) if found.phase != "forward" else ()), *found.preprocessors))
    text = f"{path}|{spec}|{found.fingerprint.device_key()}" + (f"|{mode}" if mode else "")
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _dtype_of(module: nn.Module, tensors: Sequence[torch.Tensor]) -> str:
    found = (*module.parameters(), *tensors)
    floats = [tensor.dtype for tensor in found if tensor.is_floating_point()]
    return str(floats[0]).removeprefix("torch.") if floats else "float32"
