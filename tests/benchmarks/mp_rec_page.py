"""The page that sets MP-Rec's numbers beside ours, and its charts."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.benchmarks.markdown import bullets, percent, significant, table
from tests.benchmarks.mp_rec_charts import charts

__all__ = ["charts", "describe"]

_INTRODUCTION = """\
MP-Rec (Hsia et al., ASPLOS'23, arXiv 2302.10872) as published, and the same comparisons made here: models of the
Criteo data sets, mapped by Algorithm 1, with latencies that the catalogue estimates from published figures of the
devices, served by the simulator. None of the devices was at hand, no constant was chosen to meet the paper, and both
accuracies are the paper's. Figures of devices are estimates within a factor of two, so what counts is the last column:
whether ours says the same of which is more."""


def describe(report: Mapping[str, Any]) -> list[str]:
    """The blocks of the page."""
    rows = report["rows"]
    sections = list(dict.fromkeys(row["section"] for row in rows))
    compared = [row for row in rows if row["same_sign"] is not None]
    agreeing = sum(bool(row["same_sign"]) for row in compared)
    blocks = [
        _INTRODUCTION,
        (
            f"{agreeing} of {len(compared)} comparisons have the paper's sign. Query sizes: lognormal, mean 128, sigma "
            f"{report['sigma']:g}, at most 4,096; {report['queries']:,} queries a run."
        ),
    ]
    for section in sections:
        blocks += [f"## {section}", _claims([row for row in rows if row["section"] == section])]
        blocks += _PICTURES.get(section, [])
    blocks += ["## Ablation", _ablation(report["ablation"]), "![What each part adds](images/mp_rec_ablation.svg)"]
    blocks += ["## Energy by device", _energy(report["energy"])]
    if report["sensitivity"]:
        blocks += ["## What the paper leaves open", _SENSITIVITY, _sensitivity(report["sensitivity"])]
    differing = [
        f"{row['section']}: {row['claim']}. {' '.join(_WHY.get(row['claim'], '').split())}".strip()
        for row in rows
        if row["same_sign"] is False
    ]
    return [
        *blocks,
        "## Where ours differs, and why",
        bullets(differing or ["No comparison has another sign."]),
        "## What the figures mean",
        _MEANING.format(late_qps=report["late_qps"]),
    ]


_PICTURES: Mapping[str, list[str]] = {
    "Sweeps": [
        "![Correct predictions within the SLA, over the SLA](images/mp_rec_sla.svg)",
        "![Late queries over the SLA](images/mp_rec_late.svg)",
        "![MP-Rec over tables on the CPU by mean query size](images/mp_rec_sizes.svg)",
    ],
    "Throughput of correct predictions": [
        "![Paths by query size, at 1,000 queries per second](images/mp_rec_paths.svg)",
    ],
}
_SENSITIVITY = """\
Neither the spread of sizes nor what its processor reaches is in the paper. The catalogue assumes 0.7 of the peak and
5 us an operator; eager PyTorch may take several times that on such a processor. Slow-downs are at 128 samples;
*switched* is the gain of one query at a time on the quicker table; *side by side* and *MP-Rec* are over tables on the
CPU where queries always wait; *late* is MP-Rec's share of late queries at the rate (before it) at which tables on the
CPU have the paper's 30.73 %."""
_WHY: Mapping[str, str] = {
    "order of the accelerators: TPU chip, TPU board, IPU pod": """\
Each figure has its sign, but they come from batches that the paper does not give, and here from one size. A DHE is six
operators a feature, and the catalogue charges 5 us for each on an IPU, as if its programs were not compiled whole: at
4,096 samples that is most of the pass. No measured overhead within a program was found to put in its place""",
    "Terabyte: the GPU's tables are always quicker": """\
The smallest queries cost their operators alone, of which the catalogue's processor does one in 5 us and its GPU in 7 us
and a copy. A processor that takes longer (see above) never is quicker""",
    "correct predictions per joule, large tables (Terabyte): the GPU is best": """\
The GPU computes in float32 (14 TFLOP/s), the TPU is taken at its bfloat16 peak (123 TFLOP/s), and look-ups on it at its
full bandwidth; power is the published maximum, of which a TPU was seen to use a half""",
    "HW-2: DHE's accuracy at 1,000 queries/s": """\
By the default predicate a query goes to DHE only where DHE would sustain the whole rate at that size, so large ones go
to tables""",
}
_MEANING = """\
- **Rates.** A throughput of 2.49 times that of tables on the CPU needs a load of at least 2.49 times what these serve;
  there nearly all their queries are late, not 30.73 %. So the paper's ratios and its late queries are not of one rate
  under open arrivals. Here ratios are of queries that always wait (all counted, late ones too), and late queries of the
  rate at which tables on the CPU miss 10 ms as often as the paper's: {late_qps:,.0f} per second. At the paper's 1,000
  our processor, perhaps taken to be too fast, is hardly late at all.
- **MP-Rec's gain.** Where queries always wait, ours is that of two devices side by side, and MP-Rec serves tables: no
  representation is as fast. What representations and caches add is accuracy wherever there is time for it, as the
  ablation shows. The paper's 18 % from switching leaves the most of its gain to representations and caches; a cache can
  bring DHE down to a table's time but not below it, so ours cannot say the same. Switching by 18 % and 0 is understood
  as one query at a time on the quicker device; side by side it would be nearly a second device's worth.
- **The processor.** At 20 us an operator tables on the CPU are as late as the paper's at a rate near its 1,000 queries
  per second, and slow-downs come near its 10.5x and 11.2x; MP-Rec's gain is then larger than its. That would suit a
  host that runs operator by operator, but nothing was measured on such a processor, so the catalogue's 5 us stays.
- **Slow-downs** grow with the size of the query, as a small pass costs its operators and a large one its products. The
  paper does not say where it stands; the default of its published code is 16 samples. Hash encoders run as one kernel
  here; the paper's are a chain of eager integer operations.
- **MP-Cache.** Ids follow Zipf's law with exponent 1.05 over each feature's own range, and the cache is shared evenly
  by the features, with one look-up for all of them. The paper's 1.57x from 2 KB needs 36 % of hits at least, its 1.92x
  from 2 MB 48 %: its ids are more unequal at the very top than ours, and less so below. On the GPU a DHE of this size
  costs its launches, which a cache does not spare. Hits and the decoder cache are taken not to change the accuracy;
  [what they cost](mp_cache.md) is measured elsewhere.
- **DHE alone at 400 queries/s** is hopeless on the CPU; on the GPU ours keeps up with most, as it runs fused encoders.
- **Energy** is published maximum power times busy time."""


def _claims(rows: Sequence[Mapping[str, Any]]) -> str:
    return table(
        ("claim", "paper", "ours", "same sign", "note"),
        [
            (
                row["claim"],
                _value(row["paper"], row["unit"]),
                _value(row["ours"], row["unit"]),
                "" if row["same_sign"] is None else "yes" if row["same_sign"] else "**no**",
                row["note"],
            )
            for row in rows
        ],
    )


def _value(value: float | str, unit: str) -> str:
    if isinstance(value, str):
        return value
    if unit == "%":
        return f"{100 * value:.4g} %"
    return f"{significant(value)}{'x' if unit == 'x' else ' ' + unit if unit else ''}"


def _ablation(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    columns = (
        "data, step", "throughput over tables on the CPU", "in the SLA /s, paper's rate", "accuracy", "late",
        "in the SLA /s, paper's lateness", "accuracy", "late",
    )  # fmt: skip
    return table(
        columns,
        [
            (
                f"{data}, {row['step']}",
                f"{row['over_base']:.2f}x",
                f"{row['paper_in_sla']:,.0f}",
                f"{row['paper_accuracy']:.4f}",
                percent(row["paper_share"]),
                f"{row['late_in_sla']:,.0f}",
                f"{row['late_accuracy']:.4f}",
                percent(row["late_share"]),
            )
            for data, rows in found.items()
            for row in rows
        ],
    )


def _energy(rows: Sequence[Mapping[str, Any]]) -> str:
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    pairs = list(dict.fromkeys((row["data"], row["representation"]) for row in rows))
    at = {(row["data"], row["representation"], row["kind"]): row for row in rows}
    lines = []
    for data, representation in pairs:
        for size in (128, 4096):
            figures = [at[data, representation, kind] for kind in kinds]
            best = max(figures, key=lambda row: row[f"per_j_{size}"])["kind"]
            cells = [_energy_cell(row, size, best) for row in figures]
            lines.append((f"{data}, {representation}, {size:,} samples", *cells))
    note = "Correct predictions per joule; `*`: streams from memory, as on-chip memory does not hold the parameters."
    return f"{note}\n\n{table(('data, representation', *kinds), lines)}"


def _energy_cell(row: Mapping[str, Any], size: int, best: str) -> str:
    text = f"{row[f'per_j_{size}']:,.0f}" + ("*" if row["fits_on_chip"] == "no" else "")
    return f"**{text}**" if row["kind"] == best else text


def _sensitivity(rows: Sequence[Mapping[str, Any]]) -> str:
    columns = (
        "sigma, processor", "DHE slow-down", "hybrid slow-down", "MP-Rec, Kaggle", "MP-Rec, Terabyte",
        "switched, Kaggle", "switched, Terabyte", "side by side, Kaggle", "DHE on GPU, Kaggle", "queries/s", "late",
    )  # fmt: skip
    return table(
        columns,
        [
            (
                f"{row['sigma']:g}, {row['cpu']}",
                f"{row['slowdown_dhe_cpu']:.1f}x",
                f"{row['slowdown_hybrid_cpu']:.1f}x",
                f"{row['mp_rec_kaggle']:.2f}x",
                f"{row['mp_rec_terabyte']:.2f}x",
                f"{row['switched_kaggle']:+.1%}",
                f"{row['switched_terabyte']:+.1%}",
                f"{row['side_by_side_kaggle']:.2f}x",
                f"{row['dhe_gpu_kaggle']:+.0%}",
                f"{row['late_qps']:,.0f}",
                percent(row["late_mp_rec"]),
            )
            for row in rows
        ],
    )
