"""The sections of the review's page, as plain data."""

import re
from collections.abc import Sequence

from planner.report.answer import Answer
from planner.report.blocks import Chart, Column, Row, Section, Table, Tile
from planner.report.cells import format_money, format_number, format_percent, join_names
from planner.report.provenance import MEANING
from planner.review.charts import (
    change_rows,
    change_spec,
    component_rows,
    component_spec,
    kind_rows,
    kind_spec,
)
from planner.review.comparison import DeviceDiff, ReviewDiff
from planner.review.pricing import DeviceReview, ModelReview
from profiles.units import format_bytes, format_count, format_ms

__all__ = ["review_answer", "review_sections"]

_TILES = 3
_SPEED = "samples per second of one device that does nothing else"
_COST = "per million samples, in the price's currency, while the device is busy"
_DEVICE_COLUMNS = (
    Column(key="title", title="Device"),
    Column(key="latency_ms", title="Latency", kind="ms", graded=True),
    Column(key="interval", title="90 % interval", kind="words", graded=True),
    Column(key="provenance", title="Latency is", kind="provenance"),
    Column(key="samples_per_s", title="Samples/s", kind="rate", graded=True, note=_SPEED),
    Column(key="joules_per_million", title="Energy", kind="joules", graded=True, note="per million samples"),
    Column(key="energy_label", title="Energy is"),
    Column(key="cost_per_million", title="Cost", kind="money", graded=True, note=_COST),
    Column(key="price_per_hour", title="Price/h", kind="money", note="given, never from a list"),
    Column(key="memory", title="Memory", kind="bytes"),
    Column(
        key="fits", title="Fits", kind="tick", note="the predicted peak, else the parameters, in the device's memory"
    ),
    Column(key="source", title="From"),
)
_COMPONENT_COLUMNS = (
    Column(key="label", title="Component"),
    Column(key="size", title="Size"),
    Column(key="latency_ms", title="Latency", kind="ms", graded=True),
    Column(key="interval", title="90 % interval", kind="words", graded=True),
    Column(key="provenance", title="Latency is", kind="provenance"),
    Column(key="share", title="Share", kind="bar", graded=True, note="of the model's latency on the device"),
    Column(key="flops", title="FLOPs", kind="flops", note="by formula, 2 per multiply-add"),
    Column(key="bytes_moved", title="Bytes", kind="bytes", note="moved by formula: touched rows, weights, activations"),
    Column(key="parameter_bytes", title="Parameters", kind="bytes", note="exact"),
    Column(key="mfu", title="MFU", kind="percent", graded=True, note="FLOP/s over the device's dense peak"),
    Column(key="bandwidth_share", title="Bandwidth", kind="percent", graded=True, note="bytes/s over the published"),
    Column(key="energy_j", title="Energy", kind="joules", graded=True, note="of a pass"),
    Column(key="cost_per_million", title="Cost", kind="money", graded=True, note="per million samples"),
)
_CHANGE_COLUMNS = (
    Column(key="label", title="Component"),
    Column(key="kind", title="Kind"),
    Column(key="what", title="What changed"),
    Column(key="before_ms", title="Before", kind="ms"),
    Column(key="after_ms", title="After", kind="ms"),
    Column(key="change", title="Difference", kind="range"),
    Column(key="part", title="Part", kind="percent", note="of the difference of the totals"),
    Column(key="parameters", title="Parameters", kind="range"),
    Column(key="flops", title="FLOPs", kind="range"),
)
_ORIGIN = (
    "Parameter bytes are exact and FLOPs and bytes follow from shapes by formula; the peak of a pass is predicted. "
    "Energy is the power of the device times latency: modelled by a given or published power, measured where it tells "
    "of its own. Costs rest on the price given, for a device that is busy all the time."
)
_GRADES = (Column(key="grade", title="Figure is", kind="provenance"), Column(key="meaning", title="Meaning"))


def review_answer(review: ModelReview, diff: ReviewDiff | None) -> Answer:
    """The review in a sentence, and its key figures."""
    places = [f"{format_ms(device.latency_ms)} on {device.name} ({device.provenance})" for device in review.devices]
    headline = f"A pass of {review.batch:,} samples through {review.name} takes {join_names(places)}."
    sentences = [_where(device) for device in review.devices]
    sentences.append(_memory(review))
    if diff is not None:
        sentences += [_change(diff, one) for one in diff.devices]
    return Answer(headline=headline, sentences=tuple(sentences), tiles=_tiles(review))


def review_sections(review: ModelReview, diff: ReviewDiff | None) -> tuple[Section, ...]:
    """Devices, components, the comparison where there is one, and where the figures come from."""
    compared = (_against_section(diff),) if diff is not None else ()
    reviews = (review,) if diff is None else (diff.before, review)
    return (_device_section(reviews), *compared, _component_section(review), _origin_section(review))


def _tiles(review: ModelReview) -> tuple[Tile, ...]:
    latencies = [
        Tile(
            label=f"Latency on {device.name}",
            value=format_ms(device.latency_ms),
            note=_interval(device.low_ms, device.high_ms),
            provenance=device.provenance,
        )
        for device in review.devices[:_TILES]
    ]
    parameters = Tile(label="Parameters", value=format_bytes(review.parameter_bytes), note="exact")
    peak = "peak memory not known" if review.peak_bytes is None else f"predicted peak {format_bytes(review.peak_bytes)}"
    memory = Tile(label="Work per sample", value=f"{format_count(review.flops / review.batch)}FLOP", note=peak)
    costs = [
        Tile(
            label=f"Cost on {device.name}",
            value=format_money(device.cost_per_million),
            note=f"per million samples at {format_money(device.price_per_hour)} per hour",
            provenance=device.provenance,
        )
        for device in review.devices[:_TILES]
        if device.cost_per_million is not None and device.price_per_hour is not None
    ]
    return (*latencies, parameters, memory, *costs)


def _where(device: DeviceReview) -> str:
    kinds = [f"{kind} {format_percent(ms / device.latency_ms)}" for kind, ms in [*device.by_kind.items()][:3]]
    return f"On {device.name}, time goes to {join_names(kinds)}."


def _memory(review: ModelReview) -> str:
    peak = "" if review.peak_bytes is None else f", {format_bytes(review.peak_bytes)} at the predicted peak of a pass"
    tight = [device.name for device in review.devices if not device.fits]
    short = f" That does not fit {join_names(tight)}." if tight else ""
    return f"It holds {format_bytes(review.parameter_bytes)} of parameters{peak}.{short}"


def _change(diff: ReviewDiff, one: DeviceDiff) -> str:
    word = "longer" if one.change_ms > 0 else "less"
    share = format_percent(abs(one.change_ms) / one.before.latency_ms)
    sure = "" if one.is_certain else "; the 90 % intervals overlap"
    changed = [row for row in one.components if row.change_ms]
    cause = ""
    if changed:
        most = changed[0]
        is_cause = (most.change_ms > 0) == (one.change_ms > 0)
        others = "" if is_cause else ", which others outweigh"
        cause = f" The greatest change is {most.path} ({_signed_ms(most.change_ms)}){others}."
    return (
        f"Against {diff.before.name} it takes {format_ms(abs(one.change_ms))} ({share}) {word} on {one.device}{sure}."
        f"{cause}"
    )


def _device_section(reviews: Sequence[ModelReview]) -> Section:
    rows = kind_rows(reviews)
    table = Table(
        name="devices",
        caption=f"A pass of {reviews[-1].batch:,} samples",
        columns=_DEVICE_COLUMNS,
        rows=tuple(_device_row(review, device, len(reviews)) for review in reviews for device in review.devices),
    )
    chart = Chart(
        name="kinds",
        title="Latency by kind of component",
        summary="One bar per device, split into the kinds of components.",
        spec=kind_spec(rows),
        rows=rows,
        note="Pale with a dashed edge: predicted or estimated.",
    )
    return Section(anchor="devices", title="On each device", short="Devices", charts=(chart,), tables=(table,))


def _device_row(review: ModelReview, device: DeviceReview, models: int) -> Row:
    joules = None if device.energy_j is None else device.energy_j / review.batch * 1e6
    power = f"{device.energy_label}, {device.power_w:g} W" if device.power_w is not None else ""
    return {
        "model": review.name,
        "device": device.name,
        "title": f"{review.name} on {device.name}" if models > 1 else device.name,
        "latency_ms": device.latency_ms,
        "low_ms": device.low_ms,
        "high_ms": device.high_ms,
        "interval": _interval(device.low_ms, device.high_ms),
        "provenance": device.provenance,
        "samples_per_s": device.samples_per_s,
        "joules_per_million": joules,
        "energy_label": power,
        "cost_per_million": device.cost_per_million,
        "price_per_hour": device.price_per_hour,
        "memory": device.memory_bytes,
        "fits": device.fits,
        "source": device.source,
    }


def _component_section(review: ModelReview) -> Section:
    rows = component_rows(review)
    chart = Chart(
        name="components",
        title="The components that take longest",
        summary="Bars of latency with 90 % intervals, one for each device.",
        spec=component_spec(rows),
        rows=rows,
    )
    tables = tuple(_component_table(device.name, rows, len(review.devices)) for device in review.devices)
    prose = (
        "Components are listed by their share of the pass. Latencies are those inside the model as far as these are "
        "known: tables are measured behind the traffic of the model's activations; intervals hold nine in ten."
    )
    return Section(
        anchor="components", title="Component by component", short="Components", prose=(prose,), charts=(chart,),
        tables=tables,
    )  # fmt: skip


def _component_table(device: str, rows: Sequence[Row], devices: int) -> Table:
    own = sorted((row for row in rows if row["device"] == device), key=lambda row: -row["latency_ms"])
    shown = tuple(
        {
            **row,
            "size": _unbroken(row["size"]),
            "interval": _interval(row["low_ms"], row["high_ms"]),
        }
        for row in own
    )
    is_beyond = any(row["extrapolated"] for row in own)
    return Table(
        name=f"components_{_file_word(device)}" if devices > 1 else "components_table",
        caption=f"Components on {device}",
        columns=_COMPONENT_COLUMNS,
        rows=shown,
        most=24,
        note="Some lie beyond what was measured (`extrapolated` in the frame)" if is_beyond else "",
    )


def _against_section(diff: ReviewDiff) -> Section:
    charts, tables = [], []
    for one in diff.devices:
        rows = change_rows(one)
        suffix = f"_{_file_word(one.device)}" if len(diff.devices) > 1 else ""
        if rows:
            charts.append(
                Chart(
                    name=f"changes{suffix}",
                    title=f"What makes the difference on {one.device}: {_signed_ms(one.change_ms)}",
                    summary="Bars of each component's part in the difference, the greatest on top.",
                    spec=change_spec(rows),
                    rows=rows,
                    half=len(diff.devices) > 1,
                )
            )
        table_rows = tuple(_change_row(row, one.change_ms) for row in rows)
        tables.append(
            Table(
                name=f"changes_table{suffix}",
                caption=f"Differences on {one.device}",
                columns=_CHANGE_COLUMNS,
                rows=table_rows,
                most=20,
            )
        )
    prose = (
        f"{diff.after.name} against {diff.before.name}. Components are matched by path and kind, then by kind and "
        "shape wherever they stand; their differences sum to that of the models."
    )
    return Section(
        anchor="against", title=f"Against {diff.before.name}", short="Against", prose=(prose,), charts=tuple(charts),
        tables=tuple(tables),
    )  # fmt: skip


def _change_row(row: Row, total_ms: float) -> Row:
    parameters, flops = row["change_parameter_bytes"], row["change_flops"]
    return {
        **row,
        "what": _what(row),
        "change": _signed_ms(row["change_ms"]),
        "part": row["change_ms"] / total_ms if total_ms else None,
        "parameters": _signed(parameters, format_bytes(abs(parameters))),
        "flops": _signed(flops, format_count(abs(flops))),
    }


def _what(row: Row) -> str:
    if row["before_ms"] is None:
        return f"new: {row['size']}"
    if row["after_ms"] is None:
        return f"gone: {row['before_size']}"
    if row["shape"] != row["before_shape"]:
        return f"{row['before_size']}, now {row['size']}"
    return "the same" if row["before_path"] == row["path"] else f"the same, was {row['before_path']}"


def _origin_section(review: ModelReview) -> Section:
    rows = tuple({"grade": name, "meaning": text} for name, text in MEANING.items())
    notes = [f"{device.name}: latencies are {device.source}" for device in review.devices]
    notes += [note for device in review.devices for note in device.named_notes]
    return Section(
        anchor="provenance",
        title="Where the figures come from",
        short="Provenance",
        prose=(_ORIGIN,),
        tables=(Table(name="grades", caption="Grades", columns=_GRADES, rows=rows),),
        notes=tuple(dict.fromkeys((*review.notes, *notes))),
    )


def _interval(low_ms: float, high_ms: float) -> str:
    return f"{_unbroken(format_ms(low_ms))} to {_unbroken(format_ms(high_ms))}"


def _unbroken(text: str) -> str:
    """The text, never parted at its spaces where a cell is narrow."""
    return text.replace(" ", "\u00a0")


def _file_word(name: str) -> str:
    """The name as a part of a file's name."""
    return re.sub(r"[^\w.-]", "-", name)


def _signed_ms(change_ms: float) -> str:
    return _signed(change_ms, format_ms(abs(change_ms)))


def _signed(value: float, text: str) -> str:
    if not value:
        return format_number(0.0)
    return f"{'+' if value > 0 else '−'}{text}"
