"""Embedding tables with fewer rows, so that a model fits; what the tables take in truth is kept."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from profiles.counting.traffic import state_bytes
from profiles.errors import InputError
from profiles.nested import tensors_of
from profiles.preprocessors.copies import model_with, target_with_inputs, with_tensors
from profiles.preprocessors.option_text import positive
from profiles.preprocessors.protocol import Stage
from profiles.preprocessors.trial import trial
from profiles.profilers.protocol import Figure
from profiles.providers.target import InputBatch, Target
from profiles.walk.input_copies import clone_inputs, storage_key
from profiles.walk.subject import Subject
from profiles.walk.tracing import tracing
from profiles.walk.tree import module_tree

__all__ = ["CutRows"]

Table = nn.Embedding | nn.EmbeddingBag


class CutRows:
    """Cuts every `nn.Embedding` and `nn.EmbeddingBag` to its first `rows` rows, in a copy of the model.

    Ids are taken modulo `rows` in the model's inputs. Where a table gets ids that are no part of these (computed, or
    copied on the way) they are taken modulo in the table's call, which is then slower; a note says so. Tables whose
    weights other modules share, such as a tied output layer, stay as they are.
    """

    figures: tuple[Figure, ...] = ()
    stage: Stage = "change"

    def __init__(self, rows: int) -> None:
        if rows < 1:
            raise InputError(f"preprocessor rows: must be >= 1, but got {rows}")
        self.name, self.rows = f"rows({rows})", rows

    @classmethod
    def from_text(cls, text: str) -> "CutRows":
        """A number of rows."""
        return cls(positive("rows", text))

    def prepare_target(self, target: Target) -> Target:
        """The model with cut tables, its inputs with ids that they hold, and the true bytes by path.

        Raises:
            InputError: the model or its inputs cannot be copied, or the model does not run on them.
        """
        tables, shared = _long_tables(target.model, self.rows)
        kept = [f"{self.name}: {path} stays as it is, other modules share its weight" for path in shared]
        if not tables:
            nothing = f"{self.name}: no other table has more rows" if kept else f"{self.name}: no table has more rows"
            return replace(target, notes=(*target.notes, *kept, nothing))
        seen = _one_pass(target.model, target, tables)
        places = {place for found in seen.places.values() for place in found}
        inside = [path for path, found in seen.places.items() if not found]
        model = self._cut_model(target.model, tables, inside)
        prepared = replace(
            target_with_inputs(target, lambda batch: self._with_short_ids(batch, places)),
            model=model,
            true_parameter_bytes={**_bytes_of(target.model, tables), **target.true_parameter_bytes},
            notes=(
                *target.notes,
                *kept,
                *(f"{self.name}: {path} takes ids modulo {self.rows} in its call, which takes time" for path in inside),
            ),
        )
        self._check(prepared, seen.output_shapes)
        return prepared

    def prepare_subject(self, subject: Subject) -> Subject:
        """The subject itself, which is a module of the cut model."""
        return subject

    def context(self) -> AbstractContextManager[object]:
        """Nothing."""
        return nullcontext()

    def _check(self, prepared: Target, expected: Sequence[torch.Size]) -> None:
        try:
            shapes = _one_pass(prepared.model, prepared, {}).output_shapes
        except Exception as error:
            raise InputError(f"{self.name}: the model raises: {type(error).__name__}: {error}") from error
        if shapes != expected:
            raise InputError(f"{self.name}: outputs change from {expected} to {shapes}, tables are used elsewhere too")

    def _cut_model(self, model: nn.Module, tables: Mapping[str, Table], inside: Sequence[str]) -> nn.Module:
        cut = {id(table.weight): _first_rows(table, self.rows) for table in tables.values()}
        copied = model_with(model, cut, self.name)
        for path in tables:
            table: Any = copied.get_submodule(path)
            table.num_embeddings = self.rows
            if table.padding_idx is not None:
                table.padding_idx %= self.rows
            if path in inside:
                _take_modulo_inside(table, self.rows)
        return copied

    def _with_short_ids(self, batch: InputBatch, places: Collection[int]) -> InputBatch:
        tensors = list(tensors_of((batch.args, dict(batch.kwargs))))
        storages = {storage_key(tensors[place]) for place in places}

        def short(tensor: torch.Tensor) -> torch.Tensor:
            return tensor % self.rows if storage_key(tensor) in storages else tensor

        args, kwargs = with_tensors((batch.args, dict(batch.kwargs)), short, self.name)
        return replace(batch, args=args, kwargs=kwargs)


def _long_tables(model: nn.Module, rows: int) -> tuple[dict[str, Table], list[str]]:
    """The tables to cut by path, and the paths of those whose weight something else holds too."""
    owners: dict[int, list[nn.Module]] = {}
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            owners.setdefault(id(parameter), []).append(module)
    tables: dict[str, Table] = {}
    shared = []
    for path, module in model.named_modules():
        if isinstance(module, Table) and module.num_embeddings > rows:
            if all(isinstance(owner, Table) for owner in owners[id(module.weight)]):
                tables[path] = module
            else:
                shared.append(path)
    return tables, shared


def _first_rows(table: Table, rows: int) -> nn.Parameter:
    """A view of the user's weights, unless the look-up itself writes them."""
    first = table.weight.detach()[:rows]
    return nn.Parameter(first.clone() if table.max_norm else first, requires_grad=table.weight.requires_grad)


@dataclass(frozen=True, slots=True)
class _Pass:
    """What one pass showed: by table, which of the tensors among the inputs its ids come from."""

    places: Mapping[str, set[int]]
    output_shapes: list[torch.Size]


def _one_pass(model: nn.Module, target: Target, tables: Mapping[str, Table]) -> _Pass:
    args, kwargs = clone_inputs((target.args, dict(target.kwargs)))
    tensors = list(tensors_of((args, kwargs)))
    places: dict[str, set[int]] = {path: set() for path in tables}
    nodes = module_tree(model)
    paths: dict[nn.Module, str] = {table: path for path, table in tables.items()}

    def look(index: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        if (path := paths.get(nodes[index].module)) is not None:
            ids = args[0] if args else kwargs["input"]
            places[path] |= {place for place, tensor in enumerate(tensors) if _holds(tensor, ids)}

    with trial(model), tracing(nodes, int, look), torch.no_grad():
        return _Pass(places, [tensor.shape for tensor in tensors_of(model(*args, **kwargs))])


def _holds(tensor: torch.Tensor, ids: torch.Tensor) -> bool:
    """Whether the ids are a view of the tensor, or a copy of some of its elements."""
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype is torch.bool or tensor.numel() < ids.numel():
        return False
    key = storage_key(tensor)
    if key is not None and key == storage_key(ids):
        return True
    return not _looks_like_offsets(tensor) and bool(torch.isin(ids, tensor).all())


def _looks_like_offsets(tensor: torch.Tensor) -> bool:
    return tensor.ndim == 1 and len(tensor) > 1 and bool(tensor[0] == 0) and bool((tensor.diff() >= 0).all())


def _take_modulo_inside(table: nn.Module, rows: int) -> None:
    def shorten(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
        if args:
            return (args[0] % rows, *args[1:]), kwargs
        return args, {**kwargs, "input": kwargs["input"] % rows}

    table.register_forward_pre_hook(shorten, with_kwargs=True)


def _bytes_of(model: nn.Module, tables: Iterable[str]) -> dict[str, int]:
    """Of the tables and all that contain them."""
    parts = [path.split(".") for path in tables]
    paths = {".".join(part[:depth]) for part in parts for depth in range(len(part) + 1)}
    return {path: state_bytes(model.get_submodule(path)) for path in sorted(paths)}
