"""Arguments and options of `recplan profile`."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "FORMATS",
    "Backward",
    "Batch",
    "Budget",
    "Classes",
    "Cold",
    "Depth",
    "Device",
    "Formats",
    "Include",
    "Interval",
    "List",
    "Measures",
    "MinShare",
    "OutFolder",
    "Preparations",
    "TargetName",
    "Threads",
]

# What is written where nothing else is asked for.
FORMATS = "html,json,parquet"

TargetName = Annotated[
    str | None,
    typer.Argument(
        help="A model's name (see --list), or package.module:function giving (model, inputs).", show_default=False
    ),
]
OutFolder = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Also write the profile there.")]
Formats = Annotated[
    list[str] | None,
    typer.Option("--format", metavar="NAME", help="What to write. Repeatable.", show_default=FORMATS),
]
Batch = Annotated[
    int | None, typer.Option("--batch", min=1, help="Samples per batch.", show_default="the target's own")
]
Backward = Annotated[bool, typer.Option("--backward", help="Also the backward pass.")]
Cold = Annotated[bool, typer.Option("--cold/--no-cold", help="Also with swept caches.")]
Depth = Annotated[int | None, typer.Option("--depth", min=0, help="Levels below the model.", show_default="all")]
Include = Annotated[
    list[str] | None,
    typer.Option("--include", metavar="GLOB", help="Run only these paths alone, e.g. 'blocks.0.*'. Repeatable."),
]
Classes = Annotated[
    list[str] | None, typer.Option("--class", metavar="NAME", help="Run only these classes alone. Repeatable.")
]
MinShare = Annotated[
    float, typer.Option("--min-share", min=0, max=1, help="Run alone what takes this share of the time.")
]
Interval = Annotated[
    float, typer.Option("--interval", help="Visit again until the 95 % interval is this narrow, to either side.")
]
Budget = Annotated[
    float | None,
    typer.Option("--budget", metavar="SECONDS", help="Stop visiting again after.", show_default="by the model"),
]
Threads = Annotated[int, typer.Option("--threads", min=1, help="Threads to measure with.")]
Device = Annotated[str, typer.Option("--device", metavar="NAME", help="local-cpu, cuda, cuda:1.")]
Preparations = Annotated[
    list[str] | None,
    typer.Option(
        "--with", metavar="NAME[=OPTION]", help="Prepare the model, e.g. autocast=bfloat16, compile. Repeatable."
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option("--profiler", metavar="NAME[=OPTION]", help="Measure more, e.g. memory, kernels. Repeatable."),
]
List = Annotated[bool, typer.Option("--list", help="Show the known names, and exit.")]
