"""The charts of a profile's page; their specs are what `ChartsWriter` writes, too."""

from collections.abc import Iterator

from profiles.charts.icicle import icicle_chart, icicle_frame
from profiles.charts.kernels import kernel_chart
from profiles.charts.roofline import roofline_chart, roofline_frame, roofline_note
from profiles.model_profile import ModelProfile
from profiles.results.page_blocks import Chart

__all__ = ["profile_charts"]

_ICICLE_NOTE = (
    "A click zooms into a module; a double click, or one on the line above the modules, goes back. Σ and a dark edge: "
    "summed from its parts. ≈ and a dashed edge: estimated. ×: skipped. ○: left out by a filter. Dashed and +%: what "
    "its parts come to beyond it. Pale grey and dashed: not attributed, as its parts' medians of separate passes come "
    "to less than its own. Grey: not known. (self) is what a module does outside its parts."
)


def profile_charts(profile: ModelProfile) -> tuple[Chart, ...]:
    """The icicle, the roofline and the time by kernel, of each phase where there is something to draw."""
    phases = dict.fromkeys(row.phase for row in profile.rows)
    words = {phase: f", {phase} pass" if len(phases) > 1 else "" for phase in phases}
    return tuple(chart for phase in phases for chart in _of_phase(profile, phase, words[phase]))


def _of_phase(profile: ModelProfile, phase: str, words: str) -> Iterator[Chart]:
    ending = "" if phase == "forward" else f"-{phase}"
    figures = [figure for figure in profile.figures if any(figure.name in row.figures for row in profile.rows)]
    frame = icicle_frame(profile.rows, figures=figures, phase=phase)
    yield Chart(
        name=f"icicle{ending}",
        title=f"Where the time goes{words}",
        summary="Every module as a rectangle under the one that holds it, as wide as its share of the latency.",
        spec=icicle_chart(frame, figures=figures).to_dict(),
        note=_ICICLE_NOTE,
    )
    if not roofline_frame(profile.rows, phase=phase).is_empty():
        yield Chart(
            name=f"roofline{ending}",
            title=f"Roofline{words}",
            summary="FLOP/s of every innermost module over its FLOPs per byte, under what the device allows.",
            spec=roofline_chart(profile.rows, phase=phase).to_dict(),
            note=f"The larger a point, the more of the model's latency. {roofline_note(profile.rows, phase=phase)}",
        )
    if any(kernel.phase == phase for kernel in profile.kernels):
        yield Chart(
            name=f"kernels{ending}",
            title=f"Time by kernel under each module{words}",
            summary="A bar per module, a colour per kernel, in milliseconds per pass.",
            spec=kernel_chart(profile.kernels, phase=phase).to_dict(),
            note="On a CPU a kernel is an operator without what it calls. The profiler slows each by about a "
            "microsecond: read these times for shares.",
        )
