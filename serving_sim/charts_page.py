"""Several charts as one page, some beside each other, each with its own legend."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["save_page"]

_CHANNELS = ("color", "shape", "strokeDash", "strokeWidth")


def save_page(rows: Iterable[Iterable[Any]], title: str, file: Path) -> None:
    """Write rows of Altair charts as a page that opens offline.

    Raises:
        StorageError: the file cannot be written.
    """
    import altair as alt

    from profiles.charts.page import save_chart_page
    from profiles.charts.theme import themed

    own: dict[str, Any] = dict.fromkeys(_CHANNELS, "independent")
    beside = [alt.hconcat(*map(_bare, charts), spacing=60).resolve_scale(**own) for charts in rows]
    save_chart_page(themed(alt.vconcat(*beside, spacing=40).resolve_scale(**own)), title, file)


def _bare(chart: Any) -> Any:
    """The chart without its look, which belongs to the outermost alone."""
    import altair as alt

    copy = chart.copy()
    copy.config = alt.Undefined
    return copy
