"""`recplan review` and `recplan report`."""

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.options import Json
from planner.cli.out_folder import try_out
from planner.cli.output import print_json, print_lines
from planner.cli.review_tables import show_difference, show_review
from profiles.errors import InputError

if TYPE_CHECKING:
    from planner.review import ModelReview, ReviewDiff, Subject
    from planner.study import DeviceSection

__all__ = ["register", "report", "review"]

TargetName = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="A built-in model (dlrm-kaggle, deepfm, ...), STUDY.toml:CANDIDATE, plan.json:PATH, a model file or its "
        "folder, or package.module:function giving (model, inputs).",
    ),
]
Against = Annotated[str | None, typer.Option("--against", metavar="OTHER", help="Another target to compare with.")]
Devices = Annotated[
    list[str] | None,
    typer.Option(
        "--device",
        metavar="NAME",
        help="local-cpu, cuda, or a name of the catalogue. Repeatable.",
        show_default="the study's, else local-cpu",
    ),
]
Prices = Annotated[
    list[str] | None, typer.Option("--price", metavar="NAME=PRICE", help="Price of a device per hour. Repeatable.")
]
Powers = Annotated[
    list[str] | None, typer.Option("--power", metavar="NAME=WATTS", help="Power of a busy device. Repeatable.")
]
Batch = Annotated[
    int | None, typer.Option("--batch", min=1, help="Samples per pass.", show_default="the target's own, else 256")
]
Zipf = Annotated[
    float | None,
    typer.Option("--zipf", min=0.0, help="Zipf exponent of the ids.", show_default="the study's, else 0: uniform"),
]
Profiles = Annotated[
    Path | None,
    typer.Option("--profiles", metavar="DIR", help="A store of profiles or a calibration, instead of measuring."),
]
Measure = Annotated[
    bool, typer.Option("--measure/--no-measure", help="Measure what is not known of a device that is here.")
]
AllowStale = Annotated[bool, typer.Option("--allow-stale", help="Admit profiles of another set-up.")]
Threads = Annotated[int, typer.Option("--threads", min=1, help="Threads to measure with.")]
OutFolder = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Also write the page, its frames and charts there.")
]
Top = Annotated[int, typer.Option("--top", min=1, help="Components to show of each device.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(review)
    app.command()(report)


def review(
    target: TargetName,
    against: Against = None,
    device: Devices = None,
    price: Prices = None,
    power: Powers = None,
    batch: Batch = None,
    zipf: Zipf = None,
    profiles: Profiles = None,
    measure: Measure = True,
    allow_stale: AllowStale = False,
    threads: Threads = 1,
    out: OutFolder = None,
    top: Top = 24,
    json: Json = False,
) -> None:
    """Show what each component of a model costs on each device: latency, memory, work, energy, money."""
    prices, powers = _amounts("--price", price), _amounts("--power", power)
    from planner.progress import progress_for
    from planner.review import LatencySources, compare_reviews, device_models, find_subject, review_model

    subjects = [find_subject(name, zipf=zipf) for name in (target, against) if name is not None]
    devices = _devices(subjects[0], device, prices, powers)
    samples = batch or subjects[0].batch
    if out is not None:
        try_out(out)
    sources = LatencySources(
        profiles=profiles,
        store=out / "profiles" if out else None,
        measure=measure,
        threads=threads,
        allow_stale=allow_stale,
    )
    models = device_models(subjects, [samples] * len(subjects), devices, sources, progress_for())
    reviews = [review_model(subject, samples, devices, models) for subject in subjects]
    diff = compare_reviews(reviews[1], reviews[0]) if against is not None else None
    page = _written(reviews[0], diff, out)
    if json:
        body = reviews[0].to_object()
        print_json({**body, "against": diff.to_object() if diff else None, "page": str(page) if page else None})
        return
    show_review(reviews[0], top)
    if diff is not None:
        show_difference(diff, top)
    print_lines([f"page: {page}"] if page else [])


def report(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `recplan plan` filled.")]) -> None:
    """Rebuild the report of a folder from what lies in it."""
    from planner.report import rebuild_report

    print_lines([f"report: {rebuild_report(folder)}"])


def _written(review: "ModelReview", diff: "ReviewDiff | None", out: Path | None) -> Path | None:
    if out is None:
        return None
    from planner.review import write_review
    from profiles.fingerprint import current_fingerprint

    return write_review(review, out, diff, current_fingerprint().processor)


def _amounts(option: str, texts: Sequence[str] | None) -> dict[str, float]:
    """NAME=NUMBER, each name once."""
    found: dict[str, float] = {}
    for text in texts or ():
        name, _, number = text.partition("=")
        try:
            amount = float(number)
        except ValueError:
            raise InputError(f"{option}: must be NAME=NUMBER, but got {text!r}") from None
        if not name or name in found:
            raise InputError(f"{option}: must name a device once, but got {text!r}")
        if not 0 <= amount < inf:
            raise InputError(f"{option}: must be finite and >= 0, but got {text!r}")
        found[name] = amount
    return found


def _devices(
    subject: "Subject", names: Sequence[str] | None, prices: dict[str, float], powers: dict[str, float]
) -> "tuple[DeviceSection, ...]":
    """The devices asked for, else the target's own, else this machine's processor; with prices and watts."""
    from dataclasses import replace

    from planner.study import DeviceSection

    own = {device.name: device for device in subject.devices}
    wanted = list(dict.fromkeys(names)) if names else list(own) or ["local-cpu"]
    devices = [own.get(name) or DeviceSection(name=name, kind=_kind(name)) for name in wanted]
    for option, amounts in (("--price", prices), ("--power", powers)):
        if unknown := set(amounts) - set(wanted):
            raise InputError(f"{option}: {min(unknown)!r} is none of the devices ({', '.join(wanted)})")
    return tuple(
        replace(
            device,
            price_per_hour=prices.get(device.name, device.price_per_hour),
            power_w=powers.get(device.name, device.power_w),
        )
        for device in devices
    )


def _kind(name: str) -> str:
    """The catalogue's name of a device, which may go by torch's."""
    from profiles.hardware import get_hardware

    if name == "cpu" or name.startswith("cuda"):
        from profiles.devices import resolve_device

        name = resolve_device(name, what="--device").name
    return get_hardware(name, what="--device").name
