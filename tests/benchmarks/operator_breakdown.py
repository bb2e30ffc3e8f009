"""Where the time of a pass goes by operator: table, DHE, select and hybrid on a processor and a GPU."""

from collections.abc import Mapping, Sequence
from typing import Any

from planner.progress import QuietProgress
from planner.review import LatencySources, ModelReview, Subject, device_models, review_model, subject_of_spec
from planner.review.pricing import ComponentCost, DeviceReview
from planner.study import DeviceSection
from representations.assignment import Representation, with_representation
from representations.presets import get_preset
from representations.specs import DheSpec, ModelSpec
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import bullets, percent, significant, table

__all__ = ["BENCHMARK", "OPERATORS", "PUBLISHED", "operator_of", "operator_sums"]

CPU, GPU = "local-cpu", "v100"
# Slowdowns over the table by Hsia et al., arXiv 2302.10872.
PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "dhe": {CPU: 10.5, GPU: 4.7},
    "select": {CPU: 2.1, GPU: 1.5},
    "hybrid": {CPU: 11.2, GPU: 5.4},
}
OPERATORS = ("look-up", "hash encoder", "decoder", "MLPs", "interaction", "host link")
_REPRESENTATIONS: tuple[Representation, ...] = ("table", "dhe", "select", "hybrid")
_MODELS = {"dlrm-kaggle": "Criteo Kaggle", "dlrm-terabyte-10m": "Criteo Terabyte"}
_WIDTHS = (256, 128)
_OTHER_WIDTHS = ((128,), (512, 256))
_K = 1024
_BATCHES = (128, 1024)
_QUICK_BATCH = 64

_INTRODUCTION = """\
The plain DLRM (every feature a table), and the same model with DHEs for all features, with DHEs for the three largest
(select-3), and with both for each (hybrid). DHEs have 1024 hashes and a decoder of layers 256-128-d. On the processor
every distinct component is measured here, alone, one thread, float32, uniform ids, tables behind the traffic of their
model's activations; a pass is the sum of its components. The GPU is estimated from published figures (V100, PCIe):
nothing was measured on one. The paper (Hsia et al., arXiv 2302.10872) names neither its processor nor the sizes of the
queries nor the layers of the DHEs that its slowdowns are of."""
_WHY = """\
- **Decoder.** The paper does not give the decoder's layers, and they decide the slowdown: see the last table, in which
  nothing but the hidden layers changes.
- **Processor.** One core is measured here; the paper's server runs on many. Matrix products share out among cores
  better than look-ups do, which wait for memory: with more cores, DHEs lose less.
- **Look-ups.** On the GPU a look-up is bytes at the achieved bandwidth and one launch. Scattered rows of 64 bytes reach
  less of it, so that tables are too cheap there, and everything else looks slower beside them.
- **Hash encoder.** Its integers run as one kernel on both devices here (numba on the processor, Triton on the GPU),
  which the paper's, made of tensor operations, did not: it is a smaller share of ours.
- **Small passes on a GPU** cost their launches. A DHE of two hidden layers launches six kernels a feature, a table
  one: at small batches the slowdown is a ratio of launches, whatever the layers' width."""


def operator_of(row: ComponentCost) -> str:
    """Which operator a component is part of."""
    if row.kind == "host_link":
        return "host link"
    if row.kind in {"embedding", "embedding_group"}:
        return "look-up"
    if row.kind == "dhe_encoder":
        return "hash encoder"
    if row.path.startswith("embeddings."):
        return "decoder"
    return "interaction" if row.kind == "interaction" else "MLPs"


def operator_sums(device: DeviceReview) -> dict[str, float]:
    """Latency in ms of each operator, 0 for those that the model has none of."""
    sums = dict.fromkeys(OPERATORS, 0.0)
    for row in device.components:
        sums[operator_of(row)] += row.latency_ms
    return sums


def _model(preset: str, representation: Representation, widths: tuple[int, ...] = _WIDTHS) -> ModelSpec:
    spec = get_preset(preset)
    dim = spec.embeddings[0].width
    return with_representation(spec, representation, dim=dim, dhe=DheSpec(dim=dim, k=_K, widths=widths))


def _review(subjects: Sequence[Subject], batch: int, sources: LatencySources) -> list[ModelReview]:
    devices = tuple(DeviceSection(name=name, kind=name) for name in (CPU, GPU))
    models = device_models(subjects, [batch] * len(subjects), devices, sources, QuietProgress())
    return [review_model(subject, batch, devices, models) for subject in subjects]


def _rows(preset: str, batch: int, sources: LatencySources) -> list[Figures]:
    reviews = _review([subject_of_spec(_model(preset, one)) for one in _REPRESENTATIONS], batch, sources)
    plain = {device.name: device.latency_ms for device in reviews[0].devices}
    return [
        {
            "model": preset,
            "batch": batch,
            "representation": representation,
            "device": device.name,
            "provenance": device.provenance,
            "latency_ms": device.latency_ms,
            "slowdown": device.latency_ms / plain[device.name],
            "published": PUBLISHED.get(representation, {}).get(device.name),
            "operators": operator_sums(device),
            "cut": [note for note in device.notes if "too large" in note],
        }
        for representation, review in zip(_REPRESENTATIONS, reviews, strict=True)
        for device in review.devices
    ]


def _decoder_rows(batch: int, sources: LatencySources) -> list[Figures]:
    """Slowdowns of DHEs of other layers on Kaggle."""
    widths = (_WIDTHS, *_OTHER_WIDTHS)
    specs = [_model("dlrm-kaggle", "table"), *(_model("dlrm-kaggle", "dhe", one) for one in widths)]
    plain, *others = _review([subject_of_spec(spec) for spec in specs], batch, sources)
    return [
        {
            "layers": f"{_K}-{'-'.join(map(str, one))}-16",
            "mflop_per_sample": review.flops / batch / 1e6,
            "slowdowns": {
                device.name: device.latency_ms / base.latency_ms
                for device, base in zip(review.devices, plain.devices, strict=True)
            },
        }
        for one, review in sorted(zip(widths, others, strict=True), key=lambda pair: pair[1].flops)
    ]


def _measure(quick: bool) -> Figures:
    presets, batches = (("dlrm-kaggle",), (_QUICK_BATCH,)) if quick else (tuple(_MODELS), _BATCHES)
    sources = LatencySources(seconds_per_visit=0.002 if quick else 0.02, table_budget_bytes=10**8 if quick else 10**9)
    rows = [row for preset in presets for batch in batches for row in _rows(preset, batch, sources)]
    return {"rows": rows, "decoders": [] if quick else _decoder_rows(batches[-1], sources)}


def _charts(report: Mapping[str, Any]) -> dict[str, str]:
    import altair as alt
    import polars as pl
    import vl_convert

    from profiles.charts.theme import themed

    found = {}
    for model in dict.fromkeys(row["model"] for row in report["rows"]):
        rows = [row for row in report["rows"] if row["model"] == model]
        plain = {(row["device"], row["batch"]): row["latency_ms"] for row in rows if row["representation"] == "table"}
        parts = [
            {
                "device": _device(row["device"]),
                "batch": f"batch {row['batch']}",
                "representation": row["representation"],
                "operator": operator,
                "order": OPERATORS.index(operator),
                "slowdown": latency_ms / plain[row["device"], row["batch"]],
                "published": row["published"],
            }
            for row in rows
            for operator, latency_ms in row["operators"].items()
        ]
        base = alt.Chart(pl.DataFrame(parts, infer_schema_length=None)).encode(
            y=alt.Y("representation:N", sort=list(_REPRESENTATIONS), title=None)
        )
        bars = base.mark_bar(height={"band": 0.7}).encode(
            x=alt.X("slowdown:Q", title="latency over that of the table", stack="zero"),
            color=alt.Color("operator:N", sort=list(OPERATORS), title=None, legend=alt.Legend(orient="top")),
            order=alt.Order("order:Q"),
        )
        marks = base.mark_tick(color="black", thickness=2.5, height={"band": 0.95}).encode(x="mean(published):Q")
        chart = (bars + marks).properties(width=300, height=95).facet(
            row=alt.Row("batch:N", title=None, sort=[f"batch {one}" for one in _BATCHES]),
            column=alt.Column("device:N", title=None, sort=[_device(CPU), _device(GPU)]),
        ).resolve_scale(x="independent")  # fmt: skip
        title = f"{_MODELS[model]}: operators of a pass; black marks are the published slowdowns"
        svg = vl_convert.vegalite_to_svg(themed(chart.properties(title=title)).to_json())
        found[f"operator_breakdown_{model.removeprefix('dlrm-').partition('-')[0]}"] = svg
    return found


def _device(name: str) -> str:
    return "processor (measured)" if name == CPU else "V100 (estimated)"


def _describe(report: Mapping[str, Any]) -> list[str]:
    blocks = [_INTRODUCTION]
    for model in dict.fromkeys(row["model"] for row in report["rows"]):
        rows = [row for row in report["rows"] if row["model"] == model]
        image = f"operator_breakdown_{model.removeprefix('dlrm-').partition('-')[0]}"
        blocks += [
            f"## {_MODELS[model]}",
            f"![Operators of a pass through {model}](images/{image}.svg)",
            "### Slowdown over the table",
            _slowdowns(rows),
            "### Operators",
            _operators(rows),
        ]
        if cut := sorted({note for row in rows for note in row["cut"]}):
            blocks.append(bullets(cut))
    if report["decoders"]:
        blocks += ["## The same DHE with other hidden layers, Criteo Kaggle", _decoders(report["decoders"])]
    return [*blocks, "## What differs from the paper, and why", _WHY]


def _slowdowns(rows: Sequence[Mapping[str, Any]]) -> str:
    by = {(row["representation"], row["batch"], row["device"]): row for row in rows}
    batches = sorted({row["batch"] for row in rows})
    columns = [f"{_device(device)}, batch {batch}" for device in (CPU, GPU) for batch in batches]
    return table(
        ("representation", *columns, "paper, CPU", "paper, GPU"),
        [
            (
                name,
                *(significant(by[name, batch, device]["slowdown"]) for device in (CPU, GPU) for batch in batches),
                *(significant(PUBLISHED[name][device]) for device in (CPU, GPU)),
            )
            for name in PUBLISHED
        ],
    )


def _operators(rows: Sequence[Mapping[str, Any]]) -> str:
    return table(
        ("device, batch, representation", "ms", *OPERATORS),
        [
            (
                f"{_device(row['device'])}, {row['batch']}, {row['representation']}",
                significant(row["latency_ms"]),
                *(percent(row["operators"][name] / row["latency_ms"]) for name in OPERATORS),
            )
            for row in sorted(rows, key=lambda row: (row["device"], row["batch"]))
        ],
    )


def _decoders(rows: Sequence[Mapping[str, Any]]) -> str:
    return table(
        ("layers", "MFLOP per sample", _device(CPU), _device(GPU)),
        [
            (
                row["layers"],
                significant(row["mflop_per_sample"]),
                *(significant(row["slowdowns"][d]) for d in (CPU, GPU)),
            )
            for row in rows
        ],
    )


BENCHMARK = Benchmark(
    name="operator_breakdown",
    title="Operators of table, DHE, select and hybrid",
    measure=_measure,
    describe=_describe,
    charts=_charts,
)

if __name__ == "__main__":
    main(BENCHMARK)
