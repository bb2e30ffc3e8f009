"""One pass per batch that captures the inputs of every module, counts its FLOPs and bytes, and sees what raises."""

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from profiles.counting.operators import Operator, OperatorWatch
from profiles.counting.traffic import leaf_bytes, touched_rows
from profiles.nested import signature, tensors_of
from profiles.providers.target import InputBatch
from profiles.walk.call_context import CallContext
from profiles.walk.input_copies import StorageKey, clone_inputs, storage_key
from profiles.walk.preservation import Preserved
from profiles.walk.tracing import Trace, tracing
from profiles.walk.tree import ModuleNode, module_tree

__all__ = ["CapturedCall", "Observation", "clone_inputs", "observe", "signature"]


@dataclass(kw_only=True, slots=True)
class CapturedCall:
    """Inputs of one distinct call, and how often a pass calls the module with inputs of that signature.

    `batch` is the place of the target's batch in which it was made, `weight` that batch's share in all figures.
    Tensors that are the model's own are not copied, so that a call finds them where it found them in the model.
    `writes_inputs` tells that the call changed what it was given: a replay then wants `fresh` inputs.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    signature: str
    state: CallContext = field(default_factory=CallContext.current)
    count: int = 1
    batch: int = 0
    weight: float = 1.0
    writes_inputs: bool = False
    owned: frozenset[StorageKey] = frozenset()

    @property
    def samples(self) -> int:
        """The first dimension of the first tensor that has one."""
        tensors = tensors_of((self.args, self.kwargs))
        return next((tensor.shape[0] for tensor in tensors if tensor.ndim and tensor.shape[0]), 1)

    def context(self) -> AbstractContextManager[object]:
        """What was in force when the call was captured: gradient and inference mode, autocast."""
        return self.state.entered()

    def run(self, module: nn.Module) -> Any:
        """Call a module with these inputs, in whatever context the caller has entered."""
        if self.state.autocast:
            # Else casts of weights would last from one call to the next, as they do not from one pass to the next.
            torch.clear_autocast_cache()
        return module(*self.args, **self.kwargs)

    def fresh(self) -> "CapturedCall":
        """The same call on inputs as they were captured, to be spoiled; this one must not have been run.

        Those that require a gradient and may be written are inner tensors of a graph then, as they were in the model.
        """
        args, kwargs = clone_inputs((self.args, dict(self.kwargs)), self.owned)
        if self.writes_inputs and self.state.is_grad:
            for tensor in tensors_of((args, kwargs)):
                if tensor.requires_grad:
                    _put_into_a_graph(tensor)
        return replace(self, args=args, kwargs=kwargs)


@dataclass(kw_only=True, slots=True)
class Observation:
    """What a pass showed of a module, weighted over the batches; `flops` include its children's, `self_flops` do not.

    `uncounted` are the operators without a FLOP formula that it runs itself; `touched_rows` those of a table that are
    looked up. A module that was never called may be used all the same, by another one that takes its parameters.
    `is_unseen` tells that operators of it were not seen: it, or one that it calls, runs in another thread or outside
    torch.
    """

    calls: list[CapturedCall] = field(default_factory=list)
    flops: float = 0.0
    self_flops: float = 0.0
    bytes_moved: float | None = None
    touched_rows: float | None = None
    failure: str = ""
    uncounted: dict[str, None] = field(default_factory=dict)
    is_used: bool = False
    is_unseen: bool = False

    @property
    def call_count(self) -> int:
        """How often a pass calls the module; of several batches the most."""
        counts: dict[int, int] = {}
        for call in self.calls:
            counts[call.batch] = counts.get(call.batch, 0) + call.count
        return max(counts.values(), default=0)


def observe(
    model: nn.Module,
    nodes: tuple[ModuleNode, ...],
    batches: Sequence[InputBatch],
    *,
    is_grad: bool = False,
    held: Preserved | None = None,
) -> tuple[Observation, ...]:
    """Run the model once per batch; one observation per node.

    Compiled modules and fused fast paths run eagerly and apart here, so that all that they consist of is seen. Without
    `is_grad` no gradients are recorded. Where a module raises, it carries that as `failure`, with those through which
    the error passed. `held` is told of tensors of the model before they are written.
    """
    total = sum(batch.weight for batch in batches)
    observations = tuple(Observation() for _ in nodes)
    tree = _Tree(module_tree(model), nodes, observations)
    for place, batch in enumerate(batches):
        _Pass(tree, held or Preserved(model), place, batch.weight / total).run(model, batch, is_grad=is_grad)
    return observations


class _Tree:
    """All nodes down to the leaves, and as which observation each is seen: its own, or that of the one above it."""

    def __init__(
        self, nodes: Sequence[ModuleNode], shown: Sequence[ModuleNode], observations: Sequence[Observation]
    ) -> None:
        self.nodes = nodes
        self.owners = _owners(nodes)
        by_path = {node.path: seen for node, seen in zip(shown, observations, strict=True)}
        self.own = [by_path.get(node.path) for node in nodes]
        self.seen: list[Observation] = []
        for node, own in zip(nodes, self.own, strict=True):
            self.seen.append(own or self.seen[node.parent or 0])

    def mark_unseen(self, index: int | None) -> None:
        """Also all above it."""
        while index is not None:
            self.seen[index].is_unseen = True
            index = self.nodes[index].parent


class _Pass:
    """One pass over one batch."""

    def __init__(self, tree: _Tree, held: Preserved, place: int, weight: float) -> None:
        self._tree, self._held, self._owned = tree, held, held.storages
        self._place, self._weight = place, weight
        self._thread = threading.get_ident()
        self._callers: set[int] = set()
        self._before: dict[int, tuple[int, int]] = {}
        self._running: dict[int, tuple[CapturedCall, str, list[int]]] = {}
        self._trace: Trace[int] = Trace()
        self._state = CallContext.current()
        self._watch = OperatorWatch(self._on_operator)

    def run(self, model: nn.Module, batch: InputBatch, *, is_grad: bool) -> None:
        args, kwargs = clone_inputs((batch.args, dict(batch.kwargs)), self._owned)
        tree = self._tree
        with ExitStack() as stack:
            for entered in (torch.set_grad_enabled(is_grad), _all_is_seen(), self._watch):
                stack.enter_context(entered)
            self._state = CallContext.current()
            traced = tracing(tree.nodes, lambda: self._watch.flops, self._on_call, self._on_return, sees_enclosed=True)
            self._trace = stack.enter_context(traced)
            # A model that raises is profiled as far as it got.
            with suppress(Exception):
                model(*args, **kwargs)
        self._add_up()

    def _add_up(self) -> None:
        for span in self._trace.spans:
            flops, own = self._weight * (span.end - span.start), self._tree.own[span.node]
            if own and span.is_outermost:
                own.flops += flops
            self._tree.seen[span.node].self_flops += flops
            if span.caller is not None:
                self._tree.seen[span.caller].self_flops -= flops
        for index, error in self._trace.failures:
            if own := self._tree.own[index]:
                own.failure = f"{type(error).__name__}: {error}"

    def _on_operator(self, operator: Operator) -> None:
        running = [index for index, _ in self._trace.open_calls]
        for tensor in operator.written:
            self._held.before_write(tensor)
        if operator.is_uncounted and running:
            self._tree.seen[running[-1]].uncounted[operator.name] = None
        for tensor in operator.tensors:
            key = storage_key(tensor)
            owners = self._tree.owners.get(key, []) if key else []
            if not any(owner in running for owner in owners):
                for owner in owners:
                    self._tree.seen[owner].is_used = True

    def _on_call(self, index: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self._callers.update(running for running, _ in self._trace.open_calls[-1:])
        self._before[index] = self._watch.operators, self._watch.moved_bytes
        own = self._tree.own[index]
        if own is None:
            return
        state = CallContext.current()
        text = signature((args, kwargs)) if kwargs else signature(args)
        name = ", ".join(filter(None, (text, state.difference(self._state))))
        call = next((one for one in own.calls if one.signature == name and one.batch == self._place), None)
        if call:
            call.count += 1
        else:
            with self._watch.paused():
                given, named = clone_inputs((args, dict(kwargs)), self._owned)
            call = CapturedCall(
                args=given,
                kwargs=named,
                signature=name,
                state=state,
                batch=self._place,
                weight=self._weight,
                owned=self._owned,
            )
            own.calls.append(call)
        self._running[index] = (call, text, _versions((args, kwargs)))

    def _on_return(self, index: int, args: tuple[Any, ...], kwargs: Mapping[str, Any], output: Any) -> None:
        node, own = self._tree.nodes[index], self._tree.own[index]
        if own:
            call, text, versions = self._running.pop(index)
            after = signature((args, kwargs)) if kwargs else signature(args)
            call.writes_inputs |= text != after or versions != _versions((args, kwargs))
        operators, moved_bytes = self._before.pop(index)
        is_elsewhere = threading.get_ident() != self._thread
        if is_elsewhere or (self._watch.operators == operators and self._is_new(output, (args, kwargs))):
            self._tree.mark_unseen(index)
        # A parent that uses its children's parameters without calling them moves its bytes itself.
        if node.is_leaf or index not in self._callers:
            with self._watch.paused():
                moved = leaf_bytes(node.module, (args, kwargs), output)
                rows = touched_rows(node.module, (args, kwargs))
            by_operators = self._watch.moved_bytes - moved_bytes
            if not self._tree.seen[index].is_unseen and not (moved and by_operators):
                moved = by_operators
            if moved is not None:
                seen = self._tree.seen[index]
                seen.bytes_moved = (seen.bytes_moved or 0.0) + self._weight * moved
            if own and rows is not None:
                own.touched_rows = (own.touched_rows or 0.0) + self._weight * rows

    def _is_new(self, output: Any, inputs: Any) -> bool:
        """Whether some of it lies neither where the inputs do, nor in the model."""
        known = {*map(storage_key, tensors_of(inputs)), *self._owned, None}
        return any(storage_key(tensor) not in known for tensor in tensors_of(output))


@contextmanager
def _all_is_seen() -> Iterator[None]:
    """Run compiled modules eagerly, and those of `torch.nn` that have a fused path in all their parts."""
    is_fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    # Importing the compiler takes seconds, and nothing is compiled without it.
    has_compiler = "torch._dynamo" in sys.modules
    try:
        with torch.compiler.set_stance("force_eager") if has_compiler else nullcontext():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(is_fast)


def _put_into_a_graph(leaf: torch.Tensor) -> None:
    leaf.requires_grad = False
    with torch.enable_grad():
        leaf.add_(torch.zeros((), dtype=leaf.dtype, device=leaf.device, requires_grad=True))


def _owners(nodes: Sequence[ModuleNode]) -> dict[StorageKey, list[int]]:
    """The nodes whose own parameters lie in a storage."""
    owners: dict[StorageKey, list[int]] = {}
    for node in nodes:
        for parameter in node.module.parameters(recurse=False):
            if key := storage_key(parameter):
                owners.setdefault(key, []).append(node.index)
    return owners


def _versions(inputs: Any) -> list[int]:
    """Counts of the writes to every tensor; tensors of inference mode keep none."""
    return [0 if tensor.is_inference() else tensor._version for tensor in tensors_of(inputs)]  # noqa: SLF001
