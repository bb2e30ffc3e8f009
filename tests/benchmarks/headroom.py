"""Policy `headroom` beside greedy `mp-rec` and the fluid bound, from light load to overload. Nothing here is timed."""

from collections.abc import Mapping
from typing import Any

from serving_sim.policies import Headroom, MpRec, Policy
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.headroom_limits import best_in_hindsight_per_s, planned_per_s
from tests.benchmarks.headroom_scenarios import CONDITIONS, HARDWARE, draw_load
from tests.benchmarks.markdown import bullets, percent, table

__all__ = ["BENCHMARK", "shortfalls"]

_LOADS = (0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1)
_POLICIES: dict[str, Policy] = {"mp_rec": MpRec(), "greedy": MpRec(predicate="finish-in-sla"), "headroom": Headroom()}
_LABELS = {"mp_rec": "mp-rec", "greedy": "mp-rec by deadline alone", "headroom": "headroom"}
_VARIANTS = {
    "headroom": Headroom(),
    "learned price alone": Headroom(idle_share=1.0, wait_weight=0.0, crowd_weight=0.0),
    "and rising with the wait (x (1 + 4 wait / SLA))": Headroom(idle_share=1.0, wait_weight=4.0, crowd_weight=0.0),
    "no second price": Headroom(crowd_weight=0.0),
    "second price always in full": Headroom(crowd_weight=1e9),
    "second price at 1.3 times capacity": Headroom(crowded_load=1.3),
    "remembers 1,000 queries": Headroom(memory_queries=1000),
    "remembers 16,000 queries": Headroom(memory_queries=16_000),
    "without refusals": Headroom(refuse=False),
}
_VARIANT_CASES = (("steady", 0.2), ("steady", 0.9), ("steady", 1.1), ("diurnal", 1.1), ("bursts", 0.2), ("bursts", 0.9))
_DRIFTS = ("diurnal", "bursts")
_UP_TO_90, _AT_110 = 0.98, 0.90

_INTRODUCTION = """\
Correct predictions within the SLA (10 ms) as a share of the fluid bound, which no policy can beat, over the same
queries: lognormal sizes of mean 128 and sigma 1. All latency tables and accuracies are invented. Load 100 % is the
highest mean rate that the fluid program with one price for all time serves in full."""
_MEANING = """\
- **steady**: Poisson arrivals; `mp-rec` is told the rate, `headroom` never is. **rate not known**: the plan that
  policies read says half the rate. **diurnal**: the rate swings by 50 % about its mean, two periods, so that at 80 % of
  capacity it is above it for a third of the time. **bursts**: the gaps of the bundled trace azure-code, rescaled (CV
  13: half of all stretches of 50 queries come at three times the mean rate or more). **tables 10 % off**: each path
  takes 0.9 or 1.1 times what its table says; policies read the tables.
- **mp-rec**: its default predicate (a path must sustain the offered rate); **by deadline alone**: `finish-in-sla`.
- **bound**: correct predictions in the SLA per second; for diurnal and bursts with prices that change over time, of
  which the narrowest windows last a quarter of the SLA. It knows all arrivals beforehand, and may serve a query at
  any time before its deadline, in parts. How near to it one can come in a queue is below.
- **refused**: queries turned away, of which `headroom` alone does any; they count as violations too.
- Goals: no fewer correct predictions than `mp-rec`; 98 % of the bound up to 90 % of capacity, 90 % of it at 110 %."""


_NEARNESS = """\
The bound lets a query be served in parts, at any time before its deadline, by a device that knows what is to come. No
queue does. As shares of the bound:

- **all known beforehand**: a plan made with every arrival and size in hand, of whole queries served first come first
  served: the largest are placed first, each on the quickest path on which it and all those placed before end in time.
  It chooses whom to refuse in a burst by what the burst turns out to be. The best plan may be better still.
- **best in hindsight**: `headroom` with the best of 48 settings of its options for that very run.
- **headroom**: as it comes, which knows neither."""


def _measure(quick: bool) -> Figures:
    queries, steps, loads = (6_000, 15, (0.4, 0.9, 1.1)) if quick else (60_000, 40, _LOADS)
    rows = []
    for hardware, plan in HARDWARE.items():
        for condition in CONDITIONS:
            load = draw_load(plan, condition, queries)
            capacity_qps = load.capacity_qps
            for share in loads:
                qps = share * capacity_qps
                row: Figures = {"hardware": hardware, "condition": condition, "load": share, "qps": qps}
                row["bound"] = load.bound_per_s(qps, steps)
                for name, policy in _POLICIES.items():
                    outcome = load.serve(policy, qps)
                    row[name] = outcome.correct_per_s
                    row[f"{name}_violated"] = outcome.violated
                    row[f"{name}_refused"] = outcome.refused
                if condition in _DRIFTS:
                    row["planned"] = planned_per_s(load, qps)
                    row["hindsight"] = best_in_hindsight_per_s(load, qps)
                rows.append(row)
    return {"queries": queries, "rows": rows, "variants": _variants(queries, rows)}


def _variants(queries: int, rows: list[Figures]) -> list[Figures]:
    """Shares of the bound on the first hardware, of forms that were tried."""
    hardware, plan = next(iter(HARDWARE.items()))
    found: list[Figures] = [{"variant": variant, "shares": []} for variant in _VARIANTS]
    for condition, share in _VARIANT_CASES:
        load = draw_load(plan, condition, queries)
        row = next(
            (r for r in rows if (r["hardware"], r["condition"], r["load"]) == (hardware, condition, share)), None
        )
        qps = row["qps"] if row else share * load.capacity_qps
        bound = row["bound"] if row else load.bound_per_s(qps, 15)
        for place, policy in enumerate(_VARIANTS.values()):
            found[place]["shares"].append(load.serve(policy, qps).correct_per_s / bound)
    return found


def shortfalls(rows: list[Mapping[str, Any]]) -> list[str]:
    """What falls short of the goals, one line a condition and hardware."""
    lines = []
    for hardware in HARDWARE:
        for condition in CONDITIONS:
            here = [row for row in rows if (row["hardware"], row["condition"]) == (hardware, condition)]
            short = [
                f"{row['load']:.0%}: {row['headroom'] / row['bound']:.1%}"
                for row in here
                if row["headroom"] < _goal(row["load"]) * row["bound"]
            ]
            if short:
                lines.append(f"{hardware}, {condition}: share of the bound below the goal at load {', '.join(short)}.")
            lines += [
                f"{hardware}, {condition}, load {row['load']:.0%}: {1 - row['headroom'] / row[name]:.3%} fewer correct "
                f"predictions than {_LABELS[name]}."
                for name in ("mp_rec", "greedy")
                for row in here
                if row["headroom"] < row[name]
            ]
    return lines


def _goal(load: float) -> float:
    if load <= 0.9:
        return _UP_TO_90
    return _AT_110 if load > 1 else 0.0


def _charts(report: Mapping[str, Any]) -> dict[str, str]:
    import altair as alt
    import polars as pl
    import vl_convert

    from profiles.charts.theme import themed

    rows = [
        {
            "hardware": row["hardware"],
            "condition": row["condition"],
            "load": 100 * row["load"],
            "policy": _LABELS[name],
            "share": 100 * row[name] / row["bound"],
        }
        for row in report["rows"]
        for name in _POLICIES
    ]
    base = alt.Chart(pl.DataFrame(rows)).encode(
        x=alt.X("load:Q", title="load (% of capacity)", scale=alt.Scale(domain=[15, 115])),
        y=alt.Y("share:Q", title="% of the bound", scale=alt.Scale(domain=[0, 100])),
        color=alt.Color("policy:N", title=None, legend=alt.Legend(orient="top")),
    )
    lines = (base.mark_line() + base.mark_point(filled=True)).properties(width=210, height=110)
    chart = lines.facet(
        row=alt.Row("condition:N", sort=list(CONDITIONS), title=None),
        column=alt.Column("hardware:N", sort=list(HARDWARE), title=None),
    )
    title = "Correct predictions within the SLA, of what no policy can beat"
    svg: str = vl_convert.vegalite_to_svg(themed(chart.properties(title=title)).to_json())
    return {"headroom": svg}


def _describe(report: Mapping[str, Any]) -> list[str]:
    rows = report["rows"]
    blocks = [_INTRODUCTION, f"{report['queries']:,} queries in each run, the first hundredth not counted, one seed."]
    blocks.append("![Share of the bound over load](images/headroom.svg)")
    for hardware in HARDWARE:
        blocks += [f"## {hardware}", _table([row for row in rows if row["hardware"] == hardware])]
    cases = [f"{condition} {load:.0%}" for condition, load in _VARIANT_CASES]
    tried = [(row["variant"], *(percent(share) for share in row["shares"])) for row in report["variants"]]
    short = shortfalls(rows) or ["Every goal is met in every row."]
    return [
        *blocks,
        "## How near the bound one can come",
        _NEARNESS,
        _limits([row for row in rows if "planned" in row]),
        "## What was tried (CPU + GPU, share of the bound)",
        table(("form", *cases), tried),
        "## What the figures mean",
        _MEANING,
        "## What falls short",
        bullets(short),
    ]


def _table(rows: list[Mapping[str, Any]]) -> str:
    columns = (
        "condition, load", "queries/s", "bound /s", *_LABELS.values(), "refused", "late or refused", "late by mp-rec",
    )  # fmt: skip
    return table(
        columns,
        [
            (
                f"{row['condition']}, {row['load']:.0%}",
                f"{row['qps']:,.0f}",
                f"{row['bound']:,.0f}",
                *(f"{row[name] / row['bound']:.2%}" for name in _POLICIES),
                f"{row['headroom_refused']:.2%}",
                f"{row['headroom_violated']:.2%}",
                f"{row['mp_rec_violated']:.2%}",
            )
            for row in rows
        ],
    )


def _limits(rows: list[Mapping[str, Any]]) -> str:
    columns = ("hardware, condition, load", "all known beforehand", "best in hindsight", "headroom", "mp-rec")
    names = ("planned", "hindsight", "headroom", "mp_rec")
    return table(
        columns,
        [
            (
                f"{row['hardware']}, {row['condition']}, {row['load']:.0%}",
                *(f"{row[name] / row['bound']:.1%}" for name in names),
            )
            for row in rows
        ],
    )


BENCHMARK = Benchmark(
    name="headroom",
    title="Accuracy out of headroom: `headroom` beside `mp-rec` and the fluid bound",
    measure=_measure,
    describe=_describe,
    charts=_charts,
)

if __name__ == "__main__":
    main(BENCHMARK)
