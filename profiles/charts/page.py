"""A chart as a page of its own that opens offline: with a title, and what can be chosen above the chart."""

from html import escape
from pathlib import Path
from typing import Any

from profiles.files import replace_file

__all__ = ["save_chart_page"]

_STYLE = """\
body { margin: 1.5rem; font: 14px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #1f2933; }
.chart-wrapper:has(.vega-bindings) { display: flex; flex-direction: column; }
.vega-bindings { order: -1; display: flex; flex-wrap: wrap; gap: .4rem 1.4rem; margin: 0 0 1rem; }
.vega-bindings select { font: inherit; padding: .15rem .4rem; border: 1px solid #b8c0c8; border-radius: 5px; }
"""


def save_chart_page(chart: Any, title: str, file: Path) -> None:
    """Write an Altair chart with all scripts that it needs.

    Raises:
        StorageError: the file cannot be written.
    """
    head = f"<head>\n<title>{escape(title)}</title>\n<style>\n{_STYLE}</style>"
    replace_file(file, chart.to_html(inline=True).replace("<head>", head, 1))
