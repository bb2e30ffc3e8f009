"""A review as tables on a terminal."""

from typing import TYPE_CHECKING

from planner.cli.output import print_lines, print_table
from planner.report.cells import format_money
from profiles.units import format_bytes, format_count, format_joules, format_ms

if TYPE_CHECKING:
    from planner.review import ModelReview, ReviewDiff
    from planner.review.comparison import ComponentDiff, DeviceDiff
    from planner.review.pricing import ComponentCost, DeviceReview

__all__ = ["show_difference", "show_review"]

# Columns with their least widths on a narrow terminal.
_COMPONENT = {
    "component": 8,
    "kind": 6,
    "latency": 7,
    "90 %": 9,
    "share": 5,
    "is": 9,
    "MFU": 5,
    "band-\nwidth": 5,
    "energy/\nmillion": 7,
    "cost/\nmillion": 7,
}
_WORK = ("component", "kind", "size", "FLOPs", "bytes", "parameters")
_DIFFERENCE = ("component", "kind", "before", "after", "difference", "matched by")


def show_review(review: "ModelReview", top: int) -> None:
    """Totals, then the components that take longest on each device."""
    peak = "" if review.peak_bytes is None else f", {format_bytes(review.peak_bytes)} at the peak of a pass (predicted)"
    held = f"{format_bytes(review.parameter_bytes)} of parameters{peak}"
    work = f"{format_count(review.flops)}FLOP, {format_bytes(review.bytes_moved)} moved"
    print_lines([f"{review.name}: {review.batch:,} samples, {work}, {held}"])
    for device in review.devices:
        _show_device(device, top)
    _show_work(review, top)
    notes = [note for device in review.devices for note in device.named_notes]
    print_lines(f"note: {note}" for note in dict.fromkeys((*review.notes, *notes)))


def show_difference(diff: "ReviewDiff", top: int) -> None:
    """The components that differ on each device, the greatest difference first."""
    for one in diff.devices:
        changed = [row for row in one.components if row.change_ms]
        sure = "" if one.is_certain else " (the 90 % intervals overlap)"
        title = f"Against {diff.before.name} on {one.device}: {_signed(one.change_ms)}{sure}"
        rows = [_difference_cells(row) for row in changed[:top]]
        print_table(title, _DIFFERENCE, rows, text_columns=2, folding={0: 9, 1: 6, 5: 5})
        print_lines([_rest_of_difference(one, changed[top:])] if changed[top:] else [])


def _show_device(device: "DeviceReview", top: int) -> None:
    ordered = _longest_first(device)
    title = (
        f"On {device.name} ({device.source}): {format_ms(device.latency_ms)}, 90 % {_interval(device)}, "
        f"{device.provenance}, {device.samples_per_s:,.0f} samples/s"
    )
    cells = [_cells(row, device) for row in ordered[:top]]
    filled = [column for column, name in enumerate(_COMPONENT) if any(row[column] for row in cells)]
    columns = {list(_COMPONENT)[column]: list(_COMPONENT.values())[column] for column in filled}
    rows = [tuple(row[column] for column in filled) for row in cells]
    print_table(title, tuple(columns), rows, text_columns=2, folding=dict(enumerate(columns.values())))
    if rest := ordered[top:]:
        latency_ms = sum(row.latency_ms for row in rest)
        print_lines([f"... and {len(rest)} more components: {format_ms(latency_ms)}"])
    print_lines(_totals(device))


def _show_work(review: "ModelReview", top: int) -> None:
    """What is the same on every device, of the components that take longest on the first."""
    ordered = [row for device in review.devices[:1] for row in _longest_first(device) if row.bytes_moved is not None]
    rows = [_work_cells(row) for row in ordered[:top]]
    title = f"Work of a pass of {review.batch:,} samples, by formula"
    print_table(title, _WORK, rows, text_columns=3, folding={0: 9, 1: 6, 2: 9})


def _longest_first(device: "DeviceReview") -> "list[ComponentCost]":
    return sorted(device.components, key=lambda row: -row.latency_ms)


def _totals(device: "DeviceReview") -> list[str]:
    lines = []
    if not device.fits:
        lines.append(f"{device.name}: the model does not fit its {format_bytes(device.memory_bytes)}")
    if device.energy_j is not None:
        lines.append(
            f"{device.name}: {format_joules(device.energy_j)} per pass, {device.energy_label} at {device.power_w:g} W"
        )
    if device.cost_per_million is not None:
        lines.append(
            f"{device.name}: {format_money(device.cost_per_million)} per million samples "
            f"at {device.price_per_hour:g} per hour"
        )
    return lines


def _cells(row: "ComponentCost", device: "DeviceReview") -> tuple[str, ...]:
    batch = device.samples_per_s * device.latency_ms / 1e3
    joules = "" if row.energy_j is None else format_joules(row.energy_j / batch * 1e6)
    cost = "" if row.cost_per_million is None else format_money(row.cost_per_million)
    return (
        row.path,
        row.kind,
        format_ms(row.latency_ms),
        _interval(row),
        f"{row.share:.1%}",
        f"{row.provenance}{' beyond' if row.extrapolated else ''}",
        "" if row.mfu is None else f"{row.mfu:.1%}",
        "" if row.bandwidth_share is None else f"{row.bandwidth_share:.1%}",
        joules,
        cost,
    )


def _work_cells(row: "ComponentCost") -> tuple[str, ...]:
    return (
        row.path,
        row.kind,
        row.size,
        format_count(row.flops) if row.flops else "",
        "" if row.bytes_moved is None else format_bytes(row.bytes_moved),
        format_bytes(row.parameter_bytes) if row.parameter_bytes else "",
    )


def _difference_cells(row: "ComponentDiff") -> tuple[str, ...]:
    before, after = ("" if side is None else format_ms(side.latency_ms) for side in (row.before, row.after))
    return row.path, row.kind, before, after, _signed(row.change_ms), row.by or ("new" if row.after else "gone")


def _rest_of_difference(one: "DeviceDiff", rest: "list[ComponentDiff]") -> str:
    return f"... and {len(rest)} more of {len(one.components)}: {_signed(sum(row.change_ms for row in rest))}"


def _interval(row: "ComponentCost | DeviceReview") -> str:
    low, high = format_ms(row.low_ms), format_ms(row.high_ms)
    number, _, unit = low.rpartition(" ")
    return f"{number}-{high}" if high.endswith(f" {unit}") else f"{low}-{high}"


def _signed(change_ms: float) -> str:
    return f"{'+' if change_ms > 0 else '-' if change_ms < 0 else ''}{format_ms(abs(change_ms))}"
