"""Looking up and training many tables in one kernel, beside one kernel per table."""

import gc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from profiles.errors import MeasurementError
from representations.bags import Bag
from representations.optimizer import RowWiseAdagrad
from representations.specs import Feature, TableBackend, TableSpec
from representations.table import EmbeddingTable
from representations.tables.build import build_group
from representations.tables.fbgemm import FbgemmTables
from representations.tables.group import TableGroup
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import table, with_quartiles
from tests.benchmarks.timing import Alternative, Samples, interleave, ratios, spread_of

__all__ = ["BENCHMARK", "case_of", "check_equal", "check_repeatable", "lookups", "trainings"]

Case = tuple[list[Feature], list[Bag]]
_COUNTS = (1, 10, 100, 1000)
_ROWS, _DIM, _SAMPLES, _POOLING = 2_000, 32, 128, 10
_RATE = 0.05
# Sums of ten rows in another order; four-digit rows of eight bits.
_TOLERANCES = {"quantised": 2e-2}
_LABELS = {
    "single": "one `nn.EmbeddingBag` per table",
    "torchrec": "torchrec's `EmbeddingBagCollection`",
    "fbgemm": "fbgemm, one kernel",
    "quantised": "fbgemm, one kernel, int8 rows",
    "joined": "all tables as one `nn.EmbeddingBag`",
    "fused": "fbgemm, backward and optimizer in one kernel",
}
_INTRODUCTION = f"""\
T tables of {_ROWS:,} rows x {_DIM} float32, {_SAMPLES} samples, {_POOLING} ids per bag and table, uniform ids. One
thread. Figures are medians over rounds with quartiles in brackets; the alternatives take turns within a round. Before
anything is timed, all look-ups are held against each other, and so are the rows after a training step; two fused
trainings on ids with many duplicates must end with the same bits."""
_MEANING = """\
- **look-up**: ids and offsets per table to one tensor [samples, T x dim], without gradients.
- **training**: look-up, backward pass, and exact row-wise Adagrad on the touched rows, gradients of duplicate ids
  summed first. *One per table* and *all as one* have sparse gradients and this project's optimizer after them;
  *fbgemm* updates inside its backward pass.
- Speed-ups are over one kernel per table, round by round. The paper's up to 7x is on a GPU, where a launch costs more
  than a table's look-up."""


def case_of(tables: int, seed: int = 0) -> Case:
    """Features and the bags of one batch."""
    generator = torch.Generator().manual_seed(seed)
    features = [Feature(name=f"f{i}", cardinality=_ROWS, pooling=_POOLING) for i in range(tables)]
    offsets_B = torch.arange(_SAMPLES) * _POOLING
    ids = [torch.randint(_ROWS, (_SAMPLES * _POOLING,), generator=generator) for _ in features]
    return features, [(ids_N, offsets_B) for ids_N in ids]


class SingleTables(nn.Module):
    """One module and kernel per table."""

    def __init__(self, features: Sequence[Feature]) -> None:
        super().__init__()
        self.tables = nn.ModuleList(EmbeddingTable(feature, TableSpec(dim=_DIM)) for feature in features)

    def forward(self, bags: Sequence[Bag]) -> Tensor:
        """Shape [B, T x dim]."""
        return torch.cat([one(*bag) for one, bag in zip(self.tables, bags, strict=True)], dim=1)


def _group(single: SingleTables, features: Sequence[Feature], backend: TableBackend) -> TableGroup:
    """A group with the same rows."""
    spec = TableSpec(dim=_DIM, backend=backend, dtype="int8" if backend == "quantised" else "float32")
    group = build_group(features, [spec] * len(features))
    for i, one in enumerate(single.tables):
        assert isinstance(one, EmbeddingTable)
        group.write_rows(i, one.weight.detach())
    return group


def lookups(case: Case) -> dict[str, Callable[[], Tensor]]:
    """The look-ups of equal tables, by alternative."""
    features, bags = case
    single = SingleTables(features)
    modules: dict[str, nn.Module] = {"single": single}
    backends: tuple[TableBackend, ...] = ("torchrec", "fbgemm", "quantised")
    modules |= {backend: _group(single, features, backend) for backend in backends}

    def call(module: nn.Module) -> Callable[[], Tensor]:
        @torch.inference_mode()
        def look_up() -> Tensor:
            rows: Tensor = module(bags)
            return rows

        return look_up

    return {name: call(module) for name, module in modules.items()}


def trainings(case: Case) -> tuple[dict[str, Callable[[], None]], dict[str, Callable[[], list[Tensor]]]]:
    """By alternative, a training step on equal tables, and their rows now."""
    features, bags = case
    single = SingleTables(features)
    joined, fused = (_group(single, features, "fbgemm") for _ in range(2))
    assert isinstance(joined, FbgemmTables)
    assert isinstance(fused, FbgemmTables)
    joined.sparse = True
    for one in single.modules():
        if isinstance(one, EmbeddingTable):
            one.sparse = True
    fused.fuse_optimizer(learning_rate=_RATE)
    target_BW = torch.randn(_SAMPLES, len(features) * _DIM, generator=torch.Generator().manual_seed(1))
    steps = {
        "single": _step(single, bags, target_BW, RowWiseAdagrad(single.parameters(), learning_rate=_RATE)),
        "joined": _step(joined, bags, target_BW, RowWiseAdagrad(joined.parameters(), learning_rate=_RATE)),
        "fused": _step(fused, bags, target_BW, None),
    }
    count = len(features)
    rows: dict[str, Callable[[], list[Tensor]]] = {
        "single": lambda: [parameter.detach() for parameter in single.parameters()],
        "joined": lambda: [joined.read_rows(i) for i in range(count)],
        "fused": lambda: [fused.read_rows(i) for i in range(count)],
    }
    return steps, rows


def _step(
    module: nn.Module, bags: Sequence[Bag], target_BW: Tensor, optimizer: RowWiseAdagrad | None
) -> Callable[[], None]:
    def step() -> None:
        torch.autograd.backward((module(bags) * target_BW).sum())
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad()

    return step


def check_equal(outputs: Mapping[str, Tensor]) -> None:
    """All outputs are those of single tables, but for rounding.

    Raises:
        MeasurementError: one of them is not.
    """
    first = outputs["single"]
    scale = float(first.abs().max())
    for name, output in outputs.items():
        difference = float((output - first).abs().max()) / scale
        if not difference <= _TOLERANCES.get(name, 1e-5):
            raise MeasurementError(f"{name}: differs from single tables by {difference:.2g} of the largest")


def check_repeatable(tables: int = 3) -> None:
    """Two fused trainings from the same start end with the same bits, though most ids occur several times."""
    ends = []
    for _ in range(2):
        torch.manual_seed(0)
        steps, rows = trainings(case_of(tables))
        for _ in range(3):
            steps["fused"]()
        ends.append(torch.cat(rows["fused"]()))
    if not torch.equal(*ends):
        raise MeasurementError("fused: two equal trainings end with different rows")


def _measure(quick: bool) -> Figures:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        check_repeatable()
        return {"repeatable": True, "tables": [_measured(count, quick=quick) for count in _COUNTS]}
    finally:
        torch.set_num_threads(threads)


def _measured(tables: int, *, quick: bool) -> Figures:
    case, rounds = case_of(tables), _rounds(tables, quick=quick)
    calls = max(1, (20 if quick else 100) // tables)
    looked_up = lookups(case)
    check_equal({name: look_up() for name, look_up in looked_up.items()})
    forward = interleave({name: Alternative(call=call, calls=calls) for name, call in looked_up.items()}, rounds)
    del looked_up
    gc.collect()
    steps, rows = trainings(case)
    for step in steps.values():
        step()
    check_equal({name: torch.cat(read()) for name, read in rows.items()})
    training = interleave({name: Alternative(call=call, calls=calls) for name, call in steps.items()}, rounds)
    return {"tables": tables, "lookup": _figures(forward), "training": _figures(training)}


def _rounds(tables: int, *, quick: bool) -> int:
    """A quick run has one round of the most tables, whose steps take seconds."""
    if quick:
        return 1 if tables == max(_COUNTS) else 3
    return 15


def _figures(seconds: Samples) -> Figures:
    return {
        name: {
            "ms": spread_of([value * 1e3 for value in values]).to_object(),
            "speedup": ratios(seconds["single"], values).to_object(),
        }
        for name, values in seconds.items()
    }


def _describe(report: Mapping[str, Any]) -> list[str]:
    return [
        _INTRODUCTION,
        "## Look-up: milliseconds of CPU time",
        _table(report["tables"], "lookup", "ms"),
        "## Look-up: speed-up over one kernel per table",
        _table(report["tables"], "lookup", "speedup"),
        "## Training step: milliseconds of CPU time",
        _table(report["tables"], "training", "ms"),
        "## Training step: speed-up over one kernel per table",
        _table(report["tables"], "training", "speedup"),
        "## What the figures mean",
        _MEANING,
    ]


def _table(cases: Sequence[Mapping[str, Any]], part: str, figure: str) -> str:
    names = [name for name in cases[0][part] if figure == "ms" or name != "single"]
    columns = ("tables", *(f"{case['tables']:,}" for case in cases))
    rows = [(_LABELS[name], *(with_quartiles(case[part][name][figure]) for case in cases)) for name in names]
    return table(columns, rows)


BENCHMARK = Benchmark(name="fused_lookup", title="Many tables in one kernel", measure=_measure, describe=_describe)

if __name__ == "__main__":
    main(BENCHMARK)
