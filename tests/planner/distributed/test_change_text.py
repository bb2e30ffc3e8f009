import pytest

from planner.distributed import EmbeddingTable, get_cluster
from planner.distributed.change_text import change_from_text
from planner.distributed.iteration import TrainingJob
from planner.distributed.whatif import Scenario
from profiles.errors import InputError

TABLES = tuple(EmbeddingTable(name=name, rows=1000, dim=16) for name in ("user_id", "user_city", "item"))
SCENARIO = Scenario(job=TrainingJob(name="job", tables=TABLES, batch_per_rank=64), cluster=get_cluster("zionex"))


def changed(text: str) -> Scenario:
    return change_from_text(text)(SCENARIO)


def test_sizes_change_the_job_or_the_cluster() -> None:
    both = changed("nodes=4, batch=128")
    assert (both.cluster.nodes, both.job.batch_per_rank) == (4, 128)
    assert changed("hbm_bytes=10 GB").cluster.tier("hbm").bytes == 10 * 10**9
    assert changed("ddr_bandwidth=1GB").cluster.tier("ddr").bandwidth_bytes_per_s == 1e9


def test_a_network_gets_faster_between_nodes() -> None:
    before, after = (one.cluster.inter.bandwidth_bytes_per_s["all_to_all"] for one in (SCENARIO, changed("network=2")))
    assert after == 2 * before


def test_another_cluster_brings_its_own_types_of_numbers() -> None:
    local = changed("cluster=local-gloo")
    assert (local.cluster.name, local.job.compute_dtype) == ("local-gloo", "float32")


def test_transfers_run_in_turn_or_beside_one_another() -> None:
    assert changed("transfers=in_turn").job.is_network_shared
    assert not changed("transfers=in_turn,transfers=beside").job.is_network_shared


@pytest.mark.parametrize(("text", "types"), [("float16", ("float16",) * 2), ("int8/bfloat16", ("int8", "bfloat16"))])
def test_collectives_take_one_type_or_two(text: str, types: tuple[str, str]) -> None:
    job = changed(f"collectives={text}").job
    assert (job.forward_dtype, job.backward_dtype) == types


def test_tables_take_another_type_or_become_hashes() -> None:
    assert {table.dtype for table in changed("tables=float16").job.tables} == {"float16"}
    assert [table.name for table in changed("dhe=user_*").job.tables] == ["item"]
    assert changed("dhe=all").job.tables == ()
    small, large = changed("dhe=item:32/8"), changed("dhe=item:512/64/64")
    assert 0 < small.job.dense_parameters < large.job.dense_parameters


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nodes", "what-if: must be KEY=VALUE, but got 'nodes'"),
        ("node=2", "did you mean 'nodes'"),
        ("nodes=0", "nodes: must be a whole number >= 1, but got '0'"),
        ("network=fast", "network: must be a factor > 0, but got 'fast'"),
        ("collectives=float8", "what-if: collectives: unknown name 'float8'"),
        ("tables=float64", "what-if: tables: unknown name 'float64'"),
        ("hbm_bytes=lots", "hbm_bytes: must be an amount of bytes"),
        ("hbn_bytes=1 GB", "did you mean 'hbm'"),
        ("dhe=shop", "what-if: dhe: unknown name 'shop'"),
        ("transfers=both", "what-if: transfers: unknown name 'both'; known: beside, in_turn"),
        ("cluster=zionx", "did you mean 'zionex'"),
    ],
)
def test_what_is_no_change_is_said(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint.replace("(", r"\(")):
        changed(text)
