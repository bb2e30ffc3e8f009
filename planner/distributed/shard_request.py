"""What `recplan shard` is asked: a study's sections, or tables and a cluster by name, become a scenario."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from planner.distributed.cluster import Cluster, cluster_catalogue, get_cluster, read_cluster
from planner.distributed.comms.result import measured_cluster, read_comms
from planner.distributed.constraints import TableConstraint
from planner.distributed.dense_layers import DenseLayers, layers_from_totals, layers_from_widths
from planner.distributed.hbm_cache import IdReuse
from planner.distributed.iteration.component_times import ComponentTimes
from planner.distributed.iteration.training_job import TrainingJob
from planner.distributed.tables import TABLE_SETS, EmbeddingTable, read_tables, shipped_tables
from planner.distributed.whatif import Scenario
from planner.study import SCHEMA, DenseSection, ShardingSection, Study, study_from_object
from profiles.edge import STRICT, parse_object, read_toml, shown
from profiles.errors import InputError

__all__ = ["ShardRequest", "cluster_of", "request_from_study", "request_from_tables", "tables_of"]

# The sections that a study of serving has; one that only shards can do without them.
_SERVING = ("data", "devices", "workload", "model", "search", "sweep")


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardRequest:
    """A job on a cluster, what is asked of its tables, and what else to try; `notes` say what was not given.

    `for_torchrec` plans only what torchrec runs rightly, so that the plan can be exported. `times` are measured ones of
    layers and look-ups, `reuse` says by table how soon its ids come back, for the cache in device memory.
    """

    name: str
    scenario: Scenario
    constraints: tuple[TableConstraint, ...] = ()
    what_if: tuple[str, ...] = ()
    for_torchrec: bool = False
    times: ComponentTimes | None = None
    reuse: Mapping[str, IdReuse] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def request_from_study(path: Path) -> ShardRequest:
    """The request in a study file with the sections `[cluster]` and `[sharding]`.

    A study that has neither data nor devices must name its tables.

    Raises:
        InputError: a section is missing, or an unknown key, a missing file or a bad value; names the key.
    """
    body = read_toml(path)
    if body.get("schema") != SCHEMA:
        raise InputError(f"{path}: schema: must be {SCHEMA!r}, but got {shown(body.get('schema'))}")
    for key in ("cluster", "sharding"):
        if key not in body:
            raise InputError(f"{path}: {key}: is missing; recplan shard needs [cluster] and [sharding]")
    if any(key in body for key in _SERVING):
        study = study_from_object(body, str(path), path.parent)
        if study.cluster is None or study.sharding is None:
            raise InputError(f"{path}: cluster and sharding: must be tables")
        section, cluster, name = study.sharding, study.cluster, study.name
    else:
        study = None
        small = parse_object(_SmallStudy, {key: value for key, value in body.items() if key != "schema"}, str(path))
        section, cluster, name = small.sharding, small.cluster, small.name
    try:
        tables, layers = _study_tables(section, study, path.parent)
        return _request(name, tables, layers, cluster_of(cluster, path.parent), section)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def request_from_tables(
    tables: tuple[EmbeddingTable, ...], cluster: Cluster, section: ShardingSection, name: str
) -> ShardRequest:
    """The request for these tables; the section says all else."""
    return _request(name, tables, _layers(section.dense, tables), cluster, section)


def tables_of(name: str, folder: Path = Path()) -> tuple[EmbeddingTable, ...]:
    """A set of the package by its name, or a CSV file relative to the folder."""
    if name in TABLE_SETS and not (folder / name).exists():
        return shipped_tables(name)
    return read_tables(folder / name)


def cluster_of(given: Mapping[str, Any] | str, folder: Path = Path()) -> Cluster:
    """A cluster by name, from a TOML file, or as a study's section has it, whose key `measured` names a comms file.

    Raises:
        InputError: an unknown name, a missing file, or a bad value; names the key.
    """
    if isinstance(given, str):
        if given not in cluster_catalogue() and given.endswith(".toml"):
            return read_cluster(folder / given)
        return get_cluster(given)
    body = dict(given)
    measured = body.pop("measured", None)
    cluster = read_cluster({"name": body.get("preset", "cluster"), **body}, "cluster")
    if measured is None:
        return cluster
    if not isinstance(measured, str):
        raise InputError(f"cluster.measured: must name a file, but got {measured!r}")
    return measured_cluster(cluster, read_comms(folder / measured))


@dataclass(frozen=True, kw_only=True, slots=True)
class _SmallStudy:
    __pydantic_config__: ClassVar = STRICT
    name: str
    cluster: dict[str, Any]
    sharding: ShardingSection
    seed: int = 0


def _request(
    name: str,
    tables: tuple[EmbeddingTable, ...],
    layers: DenseLayers,
    cluster: Cluster,
    section: ShardingSection,
) -> ShardRequest:
    rates = cluster.flops_per_s
    job = TrainingJob(
        name=name,
        tables=tables,
        batch_per_rank=section.batch_per_rank,
        bottom=layers.bottom,
        top=layers.top,
        interaction_flops_per_sample=layers.interaction_flops,
        interaction_numbers_per_sample=layers.interaction_numbers,
        dense_features=layers.dense_features,
        compute_dtype=section.compute_dtype or ("tf32" if "tf32" in rates else next(iter(rates))),
        forward_dtype=section.forward_dtype,
        backward_dtype=section.backward_dtype,
        dense_optimizer=None if section.dense_optimizer == "none" else section.dense_optimizer,
        is_network_shared=section.transfers == "in_turn",
    )
    notes = () if job.dense_parameters else ("no dense layers were given: the iteration is that of the tables alone",)
    return ShardRequest(
        name=name,
        scenario=Scenario(job=job, cluster=cluster),
        constraints=section.constraints,
        what_if=section.what_if,
        notes=notes,
    )


def _study_tables(
    section: ShardingSection, study: Study | None, folder: Path
) -> tuple[tuple[EmbeddingTable, ...], DenseLayers]:
    if section.tables is not None:
        tables = tables_of(section.tables, folder)
        return tables, _layers(section.dense, tables)
    if study is None:
        raise InputError("sharding.tables: is missing; without [data] there are no features to take them from")
    from planner.pipeline.data import load_study_data

    data = load_study_data(study)
    dim = max(study.search.space.dim) if section.dim is None else section.dim
    tables = tuple(
        EmbeddingTable(
            name=feature.name,
            rows=feature.cardinality,
            dim=dim,
            pooling=float(feature.pooling),
            dtype=section.dtype,
            optimizer=section.optimizer,
            zipf=data.zipf.get(feature.name),
        )
        for feature in data.features
    )
    if section.dense != DenseSection():
        return tables, _layers(section.dense, tables)
    model = study.model
    # Under a dot interaction the bottom's last width follows the embedding width.
    bottom = (*model.bottom_mlp[:-1], dim) if model.interaction == "dot" else model.bottom_mlp
    own = DenseSection(
        dense_features=data.dense_features,
        bottom_mlp=bottom if data.dense_features else (),
        interaction=model.interaction,
        top_mlp=model.top_mlp,
    )
    return tables, _layers(own, tables)


def _layers(section: DenseSection, tables: tuple[EmbeddingTable, ...]) -> DenseLayers:
    if section.mflops_per_sample is not None:
        return layers_from_totals(section.mflops_per_sample, section.layers)
    try:
        return layers_from_widths(
            tables,
            dense_features=section.dense_features,
            bottom_mlp=section.bottom_mlp,
            interaction=section.interaction,
            top_mlp=section.top_mlp,
        )
    except InputError as error:
        raise InputError(f"sharding.dense.{error}") from error
