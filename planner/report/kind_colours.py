"""One colour for each kind of component on all charts of a page, however many of them a chart shows."""

from collections.abc import Iterable

import altair as alt

from planner.cost_model.component_errors import REST
from planner.cost_model.training_rows import WHOLE_MODEL
from profiles.charts.theme import PALETTE

__all__ = ["kind_colour"]

# Without yellow, which is faint on white; darker tones after the six that are told apart best.
_OF_PARTS = (*PALETTE[:6], "#5D3A1A", "#7A5195", "#4B6B2B", "#8C8C00", "#A34F6B", "#2F6F73", "#6B7A99")
_OF_WHOLES = {WHOLE_MODEL: "#000000", REST: "#999999"}


def kind_colour(kinds: Iterable[str], shown: Iterable[str], title: str | None = None) -> alt.Color:
    """The colour channel of a chart that shows some of a page's `kinds`, in the order of `shown`."""
    parts = sorted(set(kinds) - set(_OF_WHOLES))
    colours = {kind: _OF_PARTS[i % len(_OF_PARTS)] for i, kind in enumerate(parts)} | _OF_WHOLES
    domain = list(dict.fromkeys(shown))
    return alt.Color("kind:N", title=title, scale=alt.Scale(domain=domain, range=[colours[kind] for kind in domain]))
