"""How fast the training loop is: samples per second against the same model written directly in torch."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from representations.datasets import Splits, load_dataset, split_dataset
from representations.presets import get_preset
from representations.specs import ModelSpec
from representations.training_config import TrainingConfig
from representations.training_rows import to_tensors
from representations.training_run import TrainingRun
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import table, with_quartiles
from tests.benchmarks.rivals.plain_dlrm import PlainDlrm, plain_tables, torchrec_tables, trainer
from tests.benchmarks.timing import Alternative, interleave, ratios, spread_of

__all__ = ["BENCHMARK", "trainers"]

_BATCH, _BATCHES_PER_ROUND = 2048, 8
_INTRODUCTION = f"""\
The DLRM of the preset `dlrm-flights` (nine tables of width 16, dot interaction) on the bundled flights data, batches of
{_BATCH:,}, one thread, float32. A call trains one batch: rows taken by a shuffled order, forward, backward, optimizers.
Figures are medians over rounds with quartiles in brackets; the alternatives take turns within a round. They are CPU
time."""
_MEANING = """\
- **training loop**: the project's own: Adam for the MLPs, sparse gradients and row-wise Adagrad for the tables, a share
  of ids masked, the loss checked, progress told.
- **plain torch**: the same model, `nn.EmbeddingBag` with dense gradients, one dense Adagrad for all parameters, and
  nothing else: no masking, no checks.
- **torchrec**: plain torch with torchrec's unsharded `EmbeddingBagCollection` fed by a `KeyedJaggedTensor`.
- A ratio above 1 means that the training loop takes longer than the other."""
_LABELS = {"loop": "training loop", "plain_torch": "plain torch", "torchrec": "torchrec's `EmbeddingBagCollection`"}


def trainers(spec: ModelSpec, splits: Splits, batch: int) -> dict[str, Callable[[], object]]:
    """Calls that train one batch each."""
    rows = to_tensors(splits.train)
    models = {
        "plain_torch": PlainDlrm(spec, plain_tables(spec)),
        "torchrec": PlainDlrm(spec, torchrec_tables(spec)),
    }
    return {
        "loop": _loop(spec, splits, batch),
        **{name: trainer(model, rows, batch) for name, model in models.items()},
    }


def _loop(spec: ModelSpec, splits: Splits, batch: int) -> Callable[[], object]:
    # So many epochs that the learning rate does not reach 0.
    run = TrainingRun(spec, splits.train, TrainingConfig(batch_size=batch, epochs=1000), lambda _: None)

    def train_batch() -> None:
        if not run.has_batches:
            run.drop_order()
            run.begin_epoch()
        run.train_batch()

    return train_batch


def _measure(quick: bool) -> Figures:
    splits = split_dataset(load_dataset("flights", rows=40_000 if quick else None), "random", 0)
    spec = replace(get_preset("dlrm-flights"), features=splits.features)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        timed = {
            name: Alternative(call=call, calls=_BATCHES_PER_ROUND, units=_BATCH)
            for name, call in trainers(spec, splits, _BATCH).items()
        }
        seconds = interleave(timed, 12 if quick else 40)
    finally:
        torch.set_num_threads(threads)
    over = {name: ratios(seconds["loop"], seconds[name]) for name in ("plain_torch", "torchrec")}
    return {
        **{f"ratio_to_{name}": spread.median for name, spread in over.items()},
        "ratios": {name: spread.to_object() for name, spread in over.items()},
        "samples_per_s": {name: spread_of([1 / s for s in values]).to_object() for name, values in seconds.items()},
    }


def _describe(report: Mapping[str, Any]) -> list[str]:
    rates = [(_LABELS[name], with_quartiles(value)) for name, value in report["samples_per_s"].items()]
    over = [(f"training loop over {_LABELS[name]}", with_quartiles(v)) for name, v in report["ratios"].items()]
    return [
        _INTRODUCTION,
        table(("what", "samples per CPU-second"), rates),
        "## Time, round by round",
        table(("ratio", "value"), over),
        "## What the figures mean",
        _MEANING,
    ]


BENCHMARK = Benchmark(name="training_throughput", title="Throughput of training", measure=_measure, describe=_describe)

if __name__ == "__main__":
    main(BENCHMARK)
