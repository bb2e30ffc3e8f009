"""Models that no one here wrote, predicted from the components of their modules beside their measured latency."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from planner.cost_model.composition import CostModel
from planner.cost_model.foreign import components_of_module, predict_module
from planner.cost_model.model import fit_device_model
from profiles.core_probe import QuietCore
from profiles.measure import thread_count
from profiles.store import ProfileStore
from profiles.sweep import sweep
from profiles.sweep_options import SweepOptions
from profiles.timing import TimingOptions, measure_latency
from representations.components import work_of
from representations.provider import RecommendationProvider
from representations.torchrec_models import TorchrecModel, deepfm, dlrm, torchrec_target
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import percent, significant, table

__all__ = ["BENCHMARK", "figures_of"]

_INTRODUCTION = """\
torchrec's own DLRM and SimpleDeepFMNN, their modules mapped to components by class. Components are measured alone, one
thread, at 0.5, 0.75, 1.5 and 2 times the batches that are asked for, never at these; the model is their sum, without a
context learned from whole models. The measured latency is that of the whole model in the same run."""
_OPTIONS = SweepOptions(
    threads=1, seconds_per_visit=0.004, min_samples=3, agreement=0.02, quiet_core=0.25, group_bytes=6 * 10**9
)


def figures_of(models: Mapping[str, TorchrecModel], batches: tuple[int, ...], options: SweepOptions) -> Figures:
    """Predicted and measured latency of each model at each batch; none of the components is measured at these."""
    rows = [row for name, model in models.items() for row in _rows_of(name, model, batches, options)]
    return {"rows": rows, "mape": sum(abs(row["error"]) for row in rows) / len(rows)}


def _rows_of(name: str, model: TorchrecModel, batches: tuple[int, ...], options: SweepOptions) -> list[dict[str, Any]]:
    pooling = {feature.name: feature.pooling for feature in model.features}
    target = torchrec_target(model, batch=batches[0], zipf=0.0)
    resized = target.resized
    assert resized is not None
    around = sorted({max(1, round(batch * factor)) for batch in batches for factor in (0.5, 0.75, 1.5, 2)})
    components = {
        one.component: None for batch in around for one in components_of_module(target.model, batch, pooling=pooling)
    }
    with TemporaryDirectory() as folder:
        store = ProfileStore(Path(folder))
        sweep(tuple(components), RecommendationProvider(), store, options=options)
        fitted = fit_device_model([row for row in store.load() if row.provenance == "measured"], work_of)
    predicted = predict_module(CostModel(models={"here": fitted}), target.model, batches, "here", pooling=pooling)
    timing = TimingOptions(visits=options.most_visits, seconds_per_visit=options.seconds_per_visit, min_samples=3)
    found = []
    for batch, mean_ms in zip(batches, predicted.mean_ms.tolist(), strict=True):
        call = partial(target.model, *resized(batch).args)
        with torch.inference_mode(), thread_count(options.threads):
            measured = measure_latency(call, options=timing, gap_s=0, core=_quiet_core(options, len(batches)))
        found.append(
            {
                "model": name,
                "batch": batch,
                "predicted_ms": mean_ms,
                "measured_ms": measured.p25_ms,
                "error": mean_ms / measured.p25_ms - 1,
            }
        )
    return found


def _quiet_core(options: SweepOptions, count: int) -> QuietCore | None:
    return None if options.quiet_core is None else QuietCore(options.quiet_core, patience_s=options.patience_s(count))


def _measure(quick: bool) -> Figures:
    both = {"torchrec DLRM": dlrm(), "torchrec SimpleDeepFMNN": deepfm()}
    models = {name: model for name, model in both.items() if not quick or "DLRM" in name}
    return figures_of(models, (16, 256) if quick else (1, 16, 256, 1024), _OPTIONS)


def _describe(report: Mapping[str, Any]) -> list[str]:
    rows = [
        (
            row["model"],
            str(row["batch"]),
            significant(row["predicted_ms"]),
            significant(row["measured_ms"]),
            f"{row['error']:+.1%}",
        )
        for row in report["rows"]
    ]
    return [
        _INTRODUCTION,
        table(("model", "batch", "predicted ms", "measured ms", "error"), rows),
        f"Mean absolute error: {percent(report['mape'])}.",
    ]


BENCHMARK = Benchmark(
    name="foreign_models", title="Models that no one here wrote", measure=_measure, describe=_describe
)

if __name__ == "__main__":
    main(BENCHMARK)
