"""A profile as one HTML file that opens offline: summary, charts, tables that sort and search, notes."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from profiles.charts.offline import page_chart, script_json, vega_bundle
from profiles.files import make_folder, replace_file
from profiles.model_profile import ModelProfile
from profiles.records import ComponentProfile, Latency
from profiles.results.page_blocks import Tile
from profiles.results.page_charts import profile_charts
from profiles.results.page_tables import page_tables
from profiles.units import format_bytes, format_count, format_ms

__all__ = ["HtmlWriter", "page_environment", "render_profile", "summary_tiles"]


class HtmlWriter:
    """Writes `profile.html`; its links lead to files of the same folder."""

    name = "html"

    def write(self, profile: ModelProfile, folder: Path) -> Path:
        """Write and return the file.

        Raises:
            StorageError: the disk is full or the folder is not writable; a file that was there stays.
        """
        return replace_file(make_folder(folder) / "profile.html", render_profile(profile))


def render_profile(profile: ModelProfile) -> str:
    """The page: scripts and styles inlined, names from users escaped; it asks the network for nothing."""
    charts, root = profile_charts(profile), profile.rows[0]
    return (
        page_environment()
        .get_template("profile.html.j2")
        .render(
            title=profile.name or root.class_name,
            machine=_machine(root),
            tiles=summary_tiles(profile),
            charts=charts,
            tables=page_tables(profile),
            notes=profile.notes,
            costs=tuple(_costs(profile)),
            specs=script_json({chart.name: page_chart(chart.spec) for chart in charts}),
            vega=vega_bundle(),
        )
    )


def page_environment() -> Environment:
    """Templates of this package and of the charts, with every text escaped."""
    return Environment(
        loader=ChoiceLoader([PackageLoader("profiles.results"), PackageLoader("profiles.charts")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def summary_tiles(profile: ModelProfile) -> tuple[Tile, ...]:
    """The model's own figures, those that are known, and how its modules' came about."""
    root = profile.rows[0]
    alone = root.warm or root.in_situ
    rate = root.flops * 1e3 / alone.median_ms if root.flops and alone and alone.median_ms else None
    tiles = [
        _latency_tile("Latency, alone", root.warm, f"batch {root.batch:,}"),
        _latency_tile("Latency, in situ", root.in_situ, "its modules timed"),
        _latency_tile("Latency, cold", root.cold, "caches swept"),
        Tile(label="FLOPs", figure=format_count(root.flops), note=f"{format_count(rate, 'FLOP/s')}" if rate else "")
        if root.flops is not None
        else None,
        Tile(label="MFU", figure=f"{root.mfu:.1%}", note=f"{root.device}, {root.dtype}")
        if root.mfu is not None
        else None,
        _parameters_tile(root),
        Tile(label="Peak memory", figure=format_bytes(root.peak_memory_bytes), note="alone")
        if root.peak_memory_bytes is not None
        else None,
        Tile(
            label="Modules",
            figure=f"{len(profile.modules):,}",
            note=", ".join(
                f"{count:,} {name}" for name, count in Counter(row.provenance for row in profile.modules).most_common()
            ),
        ),
    ]
    return tuple(tile for tile in tiles if tile)


def _latency_tile(label: str, latency: Latency | None, note: str) -> Tile | None:
    if latency is None:
        return None
    return Tile(label=label, figure=format_ms(latency.median_ms), note=f"± {format_ms(latency.iqr_ms)} IQR, {note}")


def _parameters_tile(root: ComponentProfile) -> Tile | None:
    """Of a model whose tables were cut, the bytes of the whole one and those that were profiled."""
    if root.parameter_bytes is None:
        return None
    profiled, whole = format_bytes(root.parameter_bytes), root.figures.get("true_parameter_bytes")
    if whole is None:
        return Tile(label="Parameters", figure=profiled, note=root.dtype)
    return Tile(label="Parameters", figure=format_bytes(round(whole)), note=f"{profiled} profiled, {root.dtype}")


def _machine(root: ComponentProfile) -> str:
    made = root.fingerprint
    threads = f"{made.threads} {'thread' if made.threads == 1 else 'threads'}"
    torch = next((f"torch {version}" for name, version in made.libraries if name == "torch"), "")
    prepared = "prepared by " + ", ".join(root.preprocessors) if root.preprocessors else ""
    parts = (root.device, made.processor, threads, torch, made.driver, prepared, made.timestamp[:16].replace("T", " "))
    return " · ".join(part for part in dict.fromkeys(parts) if part)


def _costs(profile: ModelProfile) -> Iterator[tuple[str, str]]:
    """What looking took."""
    yield "whole profile", f"{profile.profile_seconds:.3g} s"
    for name, value in profile.costs.items():
        if name != "profile_seconds":
            yield name.removesuffix("_seconds").removesuffix("_ms").replace("_", " "), _cost(name, value)


def _cost(name: str, value: float) -> str:
    """The figure by the unit in the name."""
    if name.endswith("_seconds"):
        return f"{value:.3g} s"
    if name.endswith("_ms"):
        return format_ms(value)
    return f"{value:.1%}" if name.endswith(("_overhead", "_share")) else f"{value:.4g}"
