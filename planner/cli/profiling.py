"""`recplan profile`: a model module by module."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.options import Json
from planner.cli.output import message, print_json, print_lines
from profiles.errors import MeasurementError
from profiles.units import format_bytes

if TYPE_CHECKING:
    from profiles.model_profile import ModelProfile
    from profiles.providers.target import Target

__all__ = ["profile", "register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(profile)


def profile(
    target: Annotated[str, typer.Argument(help="A model's name, or package.module:function giving (model, inputs).")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Also write rows and an icicle into this folder.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", min=0, help="Levels below the model.", show_default="all")
    ] = None,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads to measure with.")] = 1,
    cold: Annotated[bool, typer.Option("--cold", help="Also measure with swept caches.")] = False,
    json: Json = False,
) -> None:
    """Profile a model module by module."""
    from profiles.providers import check_target, find_target

    check_target(target)
    from planner.cli.profile_table import show_profile
    from profiles.walk import ProfileOptions, profile_model

    loaded = find_target(target)
    options = ProfileOptions(max_depth=depth, threads=threads, cold=cold)
    result = profile_model(loaded.model, loaded.args, loaded.kwargs, options=options)
    root = result.rows[0]
    if root.provenance == "skipped":
        raise MeasurementError(f"target {target!r}: forward raised {root.reason}")
    if root.provenance == "aggregated":
        message(f"warning: target {target!r}: forward raised {root.reason}")
    if out is not None:
        _write_profile(result, out)
    if json:
        print_json(_profile_object(result, loaded))
        return
    show_profile(target, result)
    print_lines([_parameters(result, loaded)])
    if out is not None:
        print_lines([f"rows and icicle: {out}"])


def _profile_object(result: "ModelProfile", target: "Target") -> dict[str, object]:
    """The summary; `parameter_bytes` is that of the model asked for, `latency_kind` how `latency_ms` was taken."""
    summary, root = result.summary(), result.rows[0]
    profiled = summary["parameter_bytes"]
    return {
        **summary,
        "latency_kind": "alone" if root.warm else "in situ" if root.in_situ else None,
        "parameter_bytes": target.true_parameter_bytes.get("", profiled),
        "profiled_parameter_bytes": profiled,
        "notes": [*target.notes, *result.notes],
    }


def _parameters(result: "ModelProfile", target: "Target") -> str:
    profiled = result.rows[0].parameter_bytes or 0
    asked_for = target.true_parameter_bytes.get("", profiled)
    if asked_for == profiled:
        return f"parameters: {format_bytes(profiled)}"
    return (
        f"parameters: {format_bytes(asked_for)} in the model; {format_bytes(profiled)} were profiled, "
        f"with {'; '.join(target.notes)}"
    )


def _write_profile(result: "ModelProfile", out: Path) -> None:
    from profiles.charts import icicle_chart, icicle_frame
    from profiles.files import replacing
    from profiles.store import ProfileStore

    store = ProfileStore(out)
    for row in result.rows:
        store.append(row)
    store.compact()
    with replacing(out / "icicle.html") as draft:
        icicle_chart(icicle_frame(result.rows)).save(draft, format="html", inline=True)
