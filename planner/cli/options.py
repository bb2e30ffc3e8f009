"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Edits", "Json", "Out", "PlanFile", "Qps", "Ray", "Seed", "SlaMs", "Storage", "StudyFile", "Trials"]

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="A study file (TOML).")]
PlanFile = Annotated[
    Path, typer.Argument(metavar="PLAN", help="A plan (JSON), as `recplan map` writes it, or a preset's name.")
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Folder of the results.", show_default="out/<study's name>")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Run on Ray: `local`, `auto` or a cluster's address.",
        show_default="in this process",
    ),
]
Trials = Annotated[
    int | None,
    typer.Option("--trials", min=1, help="Trials in all, instead of the study's.", show_default="the study's"),
]
Storage = Annotated[
    str | None,
    typer.Option(
        "--storage",
        metavar="URL",
        envvar="RECPLAN_STORAGE",
        help="Keep the trials in this database, e.g. sqlite:///trials.db.",
        show_default="a journal in OUT",
    ),
]
Qps = Annotated[float | None, typer.Option("--qps", help="Queries per second, instead of the plan's.")]
SlaMs = Annotated[float | None, typer.Option("--sla-ms", help="SLA in milliseconds, instead of the plan's.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed, instead of the plan's.")]
Edits = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change any key of the plan, e.g. devices.cpu.servers=2. Repeatable."
    ),
]
