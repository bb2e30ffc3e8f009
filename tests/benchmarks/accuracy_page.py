"""How tables and charts of accuracies look, whatever data they are of."""

from collections.abc import Mapping, Sequence
from typing import Any

from profiles.units import format_bytes
from tests.benchmarks.markdown import table

__all__ = ["MEANING", "accuracy_chart", "accuracy_table", "interval_text"]

MEANING = """\
- Each seed draws its own split, weights and order of rows, and trains every representation on the same ones. Figures
  are means over seeds.
- Every representation was tuned with the same budget: four pairs of learning rates, judged by validation log loss on a
  split of its own.
- **AUC interval**: 95 %, Student's t over the seeds. It holds the luck of the split too, which all representations
  share; the *difference* to the reference, taken seed by seed, is what compares. An interval that holds 0 shows no
  difference.
- **FLOPs** are per sample, 2 per multiply-accumulate of matrix products, and 8 per hash."""
_WIDTH, _HEIGHT = 760, 420
# Colours in the palette's order, strongest contrasts first.
_KINDS = ("table", "hybrid", "select", "dhe", "mixed-dimension", "robe", "quotient-remainder", "tensor-train")


def accuracy_table(rows: Sequence[Mapping[str, Any]], reference: str) -> str:
    """One line per representation."""
    columns = ("representation", "AUC", "95 %", f"over {reference}", "95 %", "log loss", "accuracy", "bytes", "FLOPs")
    lines = [
        (
            row["representation"],
            f"{row['auc']:.4f}",
            interval_text(row["auc_interval"], ".4f"),
            f"{row['auc_over_reference']:+.4f}",
            interval_text(row["auc_over_reference_interval"], "+.4f"),
            f"{row['log_loss']:.4f}",
            f"{row['accuracy']:.4f}",
            format_bytes(row["parameter_bytes"]),
            f"{row['flops']:,.0f}",
        )
        for row in rows
    ]
    return table(columns, lines)


def accuracy_chart(rows: Sequence[Mapping[str, Any]], cost: str, title: str) -> str:
    """AUC with its interval over a cost (`parameter_bytes` or `flops`), as SVG."""
    import altair as alt
    import polars as pl
    import vl_convert

    from profiles.charts import PALETTE, themed

    rows = sorted(rows, key=lambda row: -row["auc"])
    frame = pl.DataFrame({
        "representation": [row["representation"] for row in rows],
        "kind": [row["representation"].partition(" ")[0] for row in rows],
        "auc": [row["auc"] for row in rows],
        "low": [(row["auc_interval"] or (row["auc"],) * 2)[0] for row in rows],
        "high": [(row["auc_interval"] or (row["auc"],) * 2)[1] for row in rows],
        "cost": [float(row[cost]) for row in rows],
        "is_below": [place % 2 == 1 for place in range(len(rows))],
    })  # fmt: skip
    others = dict.fromkeys(kind for kind in frame["kind"] if kind not in _KINDS)
    kinds = list(others) if len(others) == frame["kind"].n_unique() else [*_KINDS, *others]
    x = alt.X("cost:Q", title=title, scale=alt.Scale(type="log", nice=False, padding=70), axis=alt.Axis(format="~s"))
    y = alt.Y("auc:Q", title="AUC on test rows", scale=alt.Scale(zero=False))
    base = alt.Chart(frame).encode(
        x=x, color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=list(PALETTE)), legend=None)
    )
    layers = alt.LayerChart(
        layer=[
            base.mark_rule().encode(y=alt.Y("low:Q", title="AUC on test rows"), y2="high:Q"),
            base.mark_point(filled=True, size=60).encode(y=y, shape=alt.Shape("kind:N", legend=None)),
            *(
                _labels(alt.Chart(frame.filter(pl.col("is_below") == below)), x, y, below=below)
                for below in (False, True)
            ),
        ],
        width=_WIDTH,
        height=_HEIGHT,
    )
    svg: str = vl_convert.vegalite_to_svg(themed(layers).to_json())
    return svg


def _labels(chart: Any, x: Any, y: Any, *, below: bool) -> Any:
    """Names beside the points, in turn above and below, as many lie close together."""
    return chart.mark_text(align="left", dx=6, dy=9 if below else -7, fontSize=10, color="#333333").encode(
        x=x, y=y, text="representation:N"
    )


def interval_text(interval: Sequence[float] | None, form: str) -> str:
    """`low to high`, empty where there is none."""
    return f"{interval[0]:{form}} to {interval[1]:{form}}" if interval else ""
