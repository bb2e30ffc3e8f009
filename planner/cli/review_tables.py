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

_COMPONENT = ("component", "kind", "latency", "90 %", "share", "is", "FLOPs", "bytes", "parameters", "MFU", "bandwidth")


def show_review(review: "ModelReview", top: int) -> None:
    """Totals, then the components that take longest on each device."""
    peak = "" if review.peak_bytes is None else f", {format_bytes(review.peak_bytes)} at the peak of a pass (predicted)"
    held = f"{format_bytes(review.parameter_bytes)} of parameters{peak}"
    work = f"{format_count(review.flops)}FLOP, {format_bytes(review.bytes_moved)} moved"
    print_lines([f"{review.name}: {review.batch:,} samples, {work}, {held}"])
    for device in review.devices:
        _show_device(device, top)
    notes = [note for device in review.devices for note in device.named_notes]
    print_lines(f"note: {note}" for note in dict.fromkeys((*review.notes, *notes)))


def show_difference(diff: "ReviewDiff", top: int) -> None:
    """The components that differ on each device, the greatest difference first."""
    for one in diff.devices:
        changed = [row for row in one.components if row.change_ms]
        sure = "" if one.is_certain else " (the 90 % intervals overlap)"
        title = f"Against {diff.before.name} on {one.device}: {_signed(one.change_ms)}{sure}"
        print_table(title, ("component", "kind", "before", "after", "difference", "matched by"),
                    [_difference_cells(row) for row in changed[:top]], text_columns=2, folding=(0, 1))  # fmt: skip
        print_lines([_rest_of_difference(one, changed[top:])] if changed[top:] else [])


def _show_device(device: "DeviceReview", top: int) -> None:
    has_cost, has_energy = device.cost_per_million is not None, device.energy_j is not None
    columns = (*_COMPONENT, *(("energy/million",) if has_energy else ()), *(("cost/million",) if has_cost else ()))
    ordered = sorted(device.components, key=lambda row: -row.latency_ms)
    title = (
        f"On {device.name} ({device.source}): {format_ms(device.latency_ms)}, 90 % {_interval(device)}, "
        f"{device.provenance}, {device.samples_per_s:,.0f} samples/s"
    )
    rows = [_cells(row, device, has_energy=has_energy, has_cost=has_cost) for row in ordered[:top]]
    print_table(title, columns, rows, text_columns=2, folding=(0, 1))
    if rest := ordered[top:]:
        latency_ms = sum(row.latency_ms for row in rest)
        print_lines([f"... and {len(rest)} more components: {format_ms(latency_ms)}"])
    print_lines(_totals(device))


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


def _cells(row: "ComponentCost", device: "DeviceReview", *, has_energy: bool, has_cost: bool) -> tuple[str, ...]:
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
        format_count(row.flops) if row.flops else "",
        "" if row.bytes_moved is None else format_bytes(row.bytes_moved),
        format_bytes(row.parameter_bytes) if row.parameter_bytes else "",
        "" if row.mfu is None else f"{row.mfu:.1%}",
        "" if row.bandwidth_share is None else f"{row.bandwidth_share:.1%}",
        *((joules,) if has_energy else ()),
        *((cost,) if has_cost else ()),
    )


def _difference_cells(row: "ComponentDiff") -> tuple[str, ...]:
    before, after = ("" if side is None else format_ms(side.latency_ms) for side in (row.before, row.after))
    return row.path, row.kind, before, after, _signed(row.change_ms), row.by or ("new" if row.after else "gone")


def _rest_of_difference(one: "DeviceDiff", rest: "list[ComponentDiff]") -> str:
    return f"... and {len(rest)} more of {len(one.components)}: {_signed(sum(row.change_ms for row in rest))}"


def _interval(row: "ComponentCost | DeviceReview") -> str:
    return f"{format_ms(row.low_ms)}-{format_ms(row.high_ms)}"


def _signed(change_ms: float) -> str:
    return f"{'+' if change_ms > 0 else '-' if change_ms < 0 else ''}{format_ms(abs(change_ms))}"
