"""The page on searches."""

from collections.abc import Mapping
from typing import Any

from profiles.units import format_bytes
from tests.benchmarks.markdown import percent, significant, table

__all__ = ["charts", "describe"]

_NAMES = {"ours": "this project's search", "random": "random search", "tpe": "Optuna TPE", "nsga2": "Optuna NSGA-II"}
_FOUND = ("exactly", "as_good", "by_chance")
_WIDTH, _HEIGHT = 620, 300
_MEANING = """\
- **Replay**: a method asks for a training, and gets the scores and the seconds that the table holds for it. All of the
  method's own time is added, screening included. Seconds of trainings are CPU time of one thread, taken while other
  work shared the machine, so that only their ratios mean anything.
- **Rungs**: each training was judged after a ninth, a third and all of its steps; only this project's search stops
  early, and pays for what it goes on with alone.
- **Constraints** are known to all methods alike: a candidate that the cost model rules out costs nothing, and none is
  trained twice. Plain Optuna is told them as constraints.
- **Hypervolume**: a method's whole trainings are compared by validation rows, and the front that these choose counts
  with its scores on test rows, which no method saw. The reference point was fixed before any search.
- **Budget share**: how much of the budget this project's search needs until the mean of its hypervolumes over seeds is
  at the other's final mean, for good."""


def describe(report: Mapping[str, Any]) -> list[str]:
    """The blocks of the page."""
    blocks = [_introduction(report), _comparison(report), "![Hypervolume over the budget](images/search.svg)"]
    blocks += ["## What the figures mean", _MEANING, "## Front of the whole space", _front(report)]
    if report["invented"]:
        blocks += ["## On tables of invented accuracies", _invented(report)]
    blocks += ["## Screening", _screening(report)]
    if report["live"]:
        blocks += ["## One run of each that really trains", _live(report)]
    return blocks


def charts(report: Mapping[str, Any]) -> dict[str, str]:
    """Mean hypervolume over the share of the budget, a line per method."""
    import altair as alt
    import polars as pl
    import vl_convert

    from profiles.charts import themed

    rows = [
        {"method": _NAMES[name], "share": place / (len(volumes) - 1), "volume": volume}
        for name, volumes in report["curves"].items()
        for place, volume in enumerate(volumes)
    ]
    order = list(_NAMES.values())
    chart = alt.Chart(pl.DataFrame(rows), width=_WIDTH, height=_HEIGHT).mark_line(interpolate="step-after")
    least = min(row["volume"] for row in rows if row["share"] > 0.05)
    chart = chart.encode(
        x=alt.X("share:Q", title="share of the budget", axis=alt.Axis(format="%")),
        y=alt.Y("volume:Q", title="hypervolume on test rows", scale=alt.Scale(zero=False, domainMin=least, clamp=True)),
        color=alt.Color("method:N", title=None, sort=order, legend=alt.Legend(labelLimit=240)),
        strokeDash=alt.StrokeDash("method:N", sort=order, legend=None),
    )
    svg: str = vl_convert.vegalite_to_svg(themed(chart).to_json())
    return {"search": svg}


def _introduction(report: Mapping[str, Any]) -> str:
    limits = ", ".join(
        f"{name} at most {format_bytes(value) if name == 'parameter_bytes' else f'{value:g}'}"
        for name, value in report["limits"].items()
    )
    allowed = report["fronts"][0]["allowed"]
    return (
        f"{report['candidates']} candidates of eight representations on the bundled flights, each trained once "
        f"({report['table_s']:,.0f} s in all) and kept with its scores; {allowed} of them are within the constraints "
        f"({limits}). Objectives: AUC, latency of a query of 128 samples on a published processor (from the cost "
        f"model), and parameter bytes. Each method has {report['budget_s']:,.0f} s, and {report['seeds']} seeds."
    )


def _comparison(report: Mapping[str, Any]) -> str:
    lines = [
        (
            _NAMES[row["method"]],
            f"{row['volume']:.4f}",
            f"{row['trainings']:.1f}",
            significant(row["own_s"]),
            "" if row["method"] == "ours" else _share(report[f"budget_share_to_{row['method']}"]),
            "" if row["method"] == "ours" else percent(row["median_share"]),
        )
        for row in report["methods"]
    ]
    columns = (
        "method",
        "hypervolume at the end",
        "whole trainings",
        "own time (s)",
        "budget share to reach it",
        "median over seeds",
    )
    return table(columns, lines)


def _share(share: float | None) -> str:
    return "not reached" if share is None else percent(share)


def _front(report: Mapping[str, Any]) -> str:
    first, noise = report["fronts"][0], report["seed_noise"]
    text = (
        f"All {first['allowed']} allowed candidates are trained in the table, so the true front by validation is "
        f"known, as far as single trainings tell: {noise['candidates']} of them, trained from "
        f"{noise['trainings'] // noise['candidates']} seeds each, scatter by a standard deviation of "
        f"{noise['validation']:.4f} of AUC. With "
        f"{first['trainings']} trainings' worth (a tenth of the {report['candidates']} of the table) this project's "
        "search trained to the end so much of it: the very members, and members or something as good (AUC lower by no "
        "more than that standard deviation, costs at most 5 % higher). By chance: what as many candidates drawn at "
        "random have that is as good."
    )
    lines = [
        (", ".join(row["objectives"]), str(row["front_size"]), *(percent(row[name]) for name in _FOUND))
        for row in report["fronts"]
    ]
    return f"{text}\n\n{table(('objectives', 'members', 'found', 'found or as good', 'by chance'), lines)}"


def _invented(report: Mapping[str, Any]) -> str:
    text = (
        "The search's few constants were set on tables like these, and while the real one was known; so the comparison "
        "is made again on some whose accuracies are invented (each representation as good, as hungry for capacity and "
        "as late to learn as it comes), with seeds that were not used then. One run of this project's search each, "
        "against the mean of two runs."
    )
    lines = [
        (
            str(place),
            _share(row["budget_share_to_random"]),
            _share(row["budget_share_to_tpe"]),
            str(row["front_size"]),
            *(percent(row[name]) for name in _FOUND),
        )
        for place, row in enumerate(report["invented"], 1)
    ]
    columns = ("table", "share to random", "share to TPE", "members", "found", "found or as good", "by chance")
    return f"{text}\n\n{table(columns, lines)}"


def _screening(report: Mapping[str, Any]) -> str:
    return (
        f"In a space of {report['space_size']:.2g} candidates (each feature chooses its representation, rows and type, "
        f"the model its width and top MLP) {report['screened']:,} different candidates were priced and compared by "
        f"evolution at {report['screened_per_s']:,.0f} per second on one core; {report['screened_front']} of those "
        "that were kept are on the front."
    )


def _live(report: Mapping[str, Any]) -> str:
    lines = [
        (_NAMES[row["method"]], f"{row['volume']:.4f}", str(row["trainings"]), str(row["steps"]))
        for row in report["live"]
    ]
    return table(("method", "hypervolume", "whole trainings", "trainings and parts of them"), lines)
