"""`recplan shard`: where tables lie on a cluster, what an iteration takes, and what changes would bring."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.cli.options import Json
from planner.cli.output import message, print_json, print_lines
from profiles.errors import InputError

if TYPE_CHECKING:
    from planner.distributed.shard_answer import ShardAnswer
    from planner.distributed.shard_request import ShardRequest

__all__ = ["register", "shard"]

TORCHREC = "torchrec"
StudyArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[STUDY]", help="A study (TOML) with \\[cluster] and \\[sharding]; --tables can do without."
    ),
]
Tables = Annotated[
    str | None,
    typer.Option("--tables", metavar="FILE", help="Tables (CSV), or a set by name: mlperf, 500, 1000, 2000."),
]
ClusterName = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="NAME",
        help="A cluster of the catalogue (zionex, zion, dgx-h100, dgx-h200, local-gloo) or a TOML file.",
        show_default="the study's, else zionex",
    ),
]
Nodes = Annotated[int | None, typer.Option("--nodes", min=1, help="Nodes, instead of the cluster's.")]
Batch = Annotated[
    int | None,
    typer.Option("--batch", min=1, help="Samples per rank and iteration.", show_default="the study's, else 512"),
]
Mflops = Annotated[
    float | None,
    typer.Option("--mflops", min=0.0, help="MFLOPs of the dense layers per sample, half before the interaction."),
]
DenseLayers = Annotated[int | None, typer.Option("--dense-layers", min=2, help="With --mflops: in how many layers.")]
Collectives = Annotated[
    str | None,
    typer.Option("--collectives", metavar="TYPE[/TYPE]", help="Type of pooled embeddings / of their gradients."),
]
WhatIf = Annotated[
    list[str] | None,
    typer.Option(
        "--what-if",
        metavar="KEY=VALUE[,...]",
        help="batch, nodes, network (factor), transfers (beside, in_turn), cluster, collectives, tables (a type), dhe "
        "(names, patterns or all), TIER_bytes, TIER_bandwidth. Repeatable.",
    ),
]
Outlook = Annotated[
    bool, typer.Option("--outlook", help="Also throughput over nodes, and what each hardware constant is worth.")
]
Compare = Annotated[
    str | None, typer.Option("--compare", metavar=TORCHREC, help="Plan with torchrec's own planner beside.")
]
Timeout = Annotated[
    int | None,
    typer.Option("--compare-seconds", min=1, help="End torchrec's search after so long.", show_default="no end"),
]
CommsBench = Annotated[
    bool, typer.Option("--comms-bench", help="Measure the network on ranks of this machine, and plan with that.")
]
Comms = Annotated[
    Path | None,
    typer.Option("--comms", metavar="FILE", help="A measured network (python -m planner.distributed.comms)."),
]
Profiles = Annotated[
    Path | None,
    typer.Option(
        "--profiles", metavar="DIR", help="A profile store: measured times of layers and look-ups, where it has them."
    ),
]
Device = Annotated[
    str | None,
    typer.Option("--device", metavar="NAME", help="With --profiles: whose rows.", show_default="the store's only one"),
]
Measure = Annotated[
    bool,
    typer.Option("--measure", help="With --profiles: first measure here, on --device (cpu), what the store lacks."),
]
Ids = Annotated[
    list[str] | None,
    typer.Option(
        "--ids",
        metavar="TABLE=FILE",
        help="A log of the ids of a table (or scarab): how soon they come back decides what a cache keeps. Repeatable.",
    ),
]
Export = Annotated[
    str | None,
    typer.Option(
        "--export", metavar=TORCHREC, help="Plan what torchrec runs rightly; write it for DistributedModelParallel."
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Write the page, plan.json, frames and charts there.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(shard)


def shard(
    study: StudyArgument = None,
    tables: Tables = None,
    cluster: ClusterName = None,
    nodes: Nodes = None,
    batch: Batch = None,
    mflops: Mflops = None,
    dense_layers: DenseLayers = None,
    collectives: Collectives = None,
    what_if: WhatIf = None,
    outlook: Outlook = False,
    compare: Compare = None,
    compare_seconds: Timeout = None,
    comms_bench: CommsBench = False,
    comms: Comms = None,
    profiles: Profiles = None,
    device: Device = None,
    measure: Measure = False,
    ids: Ids = None,
    export: Export = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Shard embedding tables over a cluster: placement, iteration time, QPS, and what-ifs."""
    _check_options(study, tables, compare, export, out)
    dense = {"mflops_per_sample": mflops, "layers": dense_layers}
    request = _request(study, tables, cluster, {key: value for key, value in dense.items() if value is not None})
    request = _changed(request, nodes=nodes, batch=batch, collectives=collectives, what_if=what_if or ())
    request = replace(request, for_torchrec=export is not None)
    request = _measured(request, profiles, device, ids or (), measure=measure)
    answer = _answer(request, comms_bench=comms_bench, comms=comms)
    if outlook or out is not None:
        from planner.distributed.shard_answer import with_outlook

        answer = with_outlook(answer)
    if compare is not None:
        answer = _with_torchrec(answer, compare_seconds)
    files = _written(answer, out, export)
    if json:
        print_json({**answer.to_object(), "files": files})
        return
    from planner.cli.sharding_tables import show_answer

    show_answer(answer)
    print_lines(f"{name}: {path}" for name, path in files.items())


def _check_options(
    study: Path | None, tables: str | None, compare: str | None, export: str | None, out: Path | None
) -> None:
    if (study is None) == (tables is None):
        raise typer.BadParameter("name either a STUDY or --tables FILE")
    for option, value in (("--compare", compare), ("--export", export)):
        if value not in (None, TORCHREC):
            raise typer.BadParameter(f"{option}: must be {TORCHREC}, but got {value!r}")
    if export is not None and out is None:
        raise typer.BadParameter("--export goes with --out DIR, where its file is written")


def _request(study: Path | None, tables: str | None, cluster: str | None, dense: Mapping[str, Any]) -> "ShardRequest":
    from planner.distributed.shard_request import cluster_of, request_from_study, request_from_tables, tables_of
    from planner.study import DenseSection, ShardingSection

    if study is not None:
        if dense:
            raise typer.BadParameter("--mflops and --dense-layers go with --tables; a study has [sharding.dense]")
        request = request_from_study(study)
        if cluster is None:
            return request
        return replace(request, scenario=replace(request.scenario, cluster=cluster_of(cluster)))
    assert tables is not None  # noqa: S101 (one of both is there)
    section = ShardingSection(dense=DenseSection(**dense))
    name = Path(tables).stem
    return request_from_tables(tables_of(tables), cluster_of(cluster or "zionex"), section, name)


def _changed(
    request: "ShardRequest",
    *,
    nodes: int | None,
    batch: int | None,
    collectives: str | None,
    what_if: "list[str] | tuple[str, ...]",
) -> "ShardRequest":
    """The request with what the command line says; a what-if's own words change the scenario for good."""
    from planner.distributed.change_text import change_from_text

    scenario = request.scenario
    for key, value in (("nodes", nodes), ("batch", batch), ("collectives", collectives)):
        if value is not None:
            scenario = change_from_text(f"{key}={value}")(scenario)
    return replace(request, scenario=scenario, what_if=(*request.what_if, *what_if))


def _measured(
    request: "ShardRequest",
    profiles: Path | None,
    device: str | None,
    ids: "list[str] | tuple[str, ...]",
    *,
    measure: bool,
) -> "ShardRequest":
    """The request with times from a profile store, and with logs of ids."""
    from planner.distributed.measured_request import with_ids, with_profiles

    if profiles is None and (device is not None or measure):
        raise typer.BadParameter("--device and --measure go with --profiles DIR")
    request = with_ids(request, ids)
    if profiles is None:
        return request
    if measure:
        from profiles.devices import resolve_device

        resolve_device(device or "cpu", what="--device")
        message("measuring layers and look-ups")
    return with_profiles(request, profiles, device, measure=measure)


def _answer(request: "ShardRequest", *, comms_bench: bool, comms: Path | None) -> "ShardAnswer":
    from planner.distributed.comms import measured_cluster, read_comms
    from planner.distributed.shard_answer import answer_request, measure_network, with_comms

    if comms_bench and comms is not None:
        raise typer.BadParameter("--comms-bench measures what --comms reads; name one of them")
    if comms_bench:
        measured, result = measure_network(request)
        return with_comms(answer_request(measured), request, result)
    if comms is None:
        return answer_request(request)
    result = read_comms(comms)
    scenario = replace(request.scenario, cluster=measured_cluster(request.scenario.cluster, result))
    return with_comms(answer_request(replace(request, scenario=scenario)), request, result)


def _with_torchrec(answer: "ShardAnswer", timeout_s: int | None) -> "ShardAnswer":
    from planner.distributed.interop import compare_with_torchrec
    from planner.distributed.shard_answer import compared

    request = answer.request
    message("planning with torchrec")
    try:
        rows = compare_with_torchrec(
            request.scenario, answer.plan, constraints=request.constraints, timeout_s=timeout_s
        )
    except ModuleNotFoundError as error:
        raise InputError(f"--compare: needs {error.name}, which is not installed") from error
    return compared(answer, rows)


def _written(answer: "ShardAnswer", out: Path | None, export: str | None) -> dict[str, str]:
    if out is None:
        return {}
    from planner.distributed.report import write_shard_page

    exported = None
    if export is not None:
        from planner.distributed.interop import export_plan

        # Refused before anything is written.
        exported = export_plan(answer.plan, device="cpu" if answer.comms and answer.comms.backend == "gloo" else "cuda")
    files = {"page": str(write_shard_page(answer, out)), "plan": str(out / "plan.json")}
    if exported is not None:
        files["torchrec"] = str(exported.save(out / "torchrec.json"))
    return files
