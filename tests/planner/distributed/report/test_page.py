"""The page of a sharding answer, in a real browser where there is one."""

from dataclasses import replace
from pathlib import Path

import pytest

from planner.cli.sharding_tables import show_answer
from planner.distributed import EmbeddingTable, get_cluster
from planner.distributed.comms import CallTime, CommsResult
from planner.distributed.dense_layers import layers_from_totals
from planner.distributed.interop import PlannerRow
from planner.distributed.iteration import TrainingJob
from planner.distributed.report import write_shard_page
from planner.distributed.report.sections import placement_rows, shard_sections
from planner.distributed.shard_answer import ShardAnswer, answer_request, compared, with_comms, with_outlook
from planner.distributed.shard_request import ShardRequest
from planner.distributed.whatif import Scenario
from tests.chromium import CHROMIUM, open_page, started_browser

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def answer() -> ShardAnswer:
    tables = [EmbeddingTable(name=f"t{i}", rows=1000 * (i + 1), dim=32, pooling=i + 1.0) for i in range(6)]
    # More than the devices hold, so that the host's memory is used too.
    tables.append(EmbeddingTable(name=EVIL, rows=600_000_000, dim=128, pooling=4.0, zipf=1.05))
    layers = layers_from_totals(20.0, 4)
    job = TrainingJob(name=EVIL, tables=tuple(tables), batch_per_rank=256, bottom=layers.bottom, top=layers.top)
    cluster = replace(get_cluster("zionex"), nodes=2, devices_per_node=2)
    request = ShardRequest(name=EVIL, scenario=Scenario(job=job, cluster=cluster), what_if=("network=2", "nodes=4"))
    found = with_outlook(answer_request(request))
    row = PlannerRow(
        planner="torchrec", plan_seconds=1.0, torchrec_ms=2.0, torchrec_over_bound=1.5, max_over_mean=1.0,
        iteration_ms=3.0, qps=1e6,
    )  # fmt: skip
    time = CallTime(collective="all_to_all", message_bytes=1000, median_ms=1.0, low_ms=0.9, high_ms=1.1)
    result = CommsResult(backend="gloo", nodes=1, devices_per_node=2, fixed=(time,), replayed=(time,))
    return with_comms(compared(found, [row]), request, result)


def test_every_part_that_was_asked_for_has_a_section(answer: ShardAnswer) -> None:
    sections = shard_sections(answer)
    anchors = [section.anchor for section in sections]
    assert anchors == ["placement", "iteration", "what-if", "outlook", "planners", "comms", "provenance"]
    plain = replace(answer, outcomes=answer.outcomes[:1], scaling=(), sensitivity=(), planners=(), comms=None)
    assert [section.anchor for section in shard_sections(plain)] == ["placement", "iteration", "provenance"]


def test_placements_name_every_table_once_the_largest_first(answer: ShardAnswer) -> None:
    rows = placement_rows(answer)
    assert rows[0]["table"] == EVIL
    assert sorted(row["table"] for row in rows) == sorted(table.name for table in answer.plan.tables)
    assert sum(row["bytes"] for row in rows) >= sum(table.parameter_bytes for table in answer.plan.tables)


def test_the_same_answer_gives_the_same_object(answer: ShardAnswer) -> None:
    body = answer.to_object()
    assert body["max_over_lower_bound"] == answer.plan.max_over_lower_bound
    assert [row["nodes"] for row in body["scaling"]] == [1, 2]
    assert [row["name"] for row in body["what_ifs"]] == ["network=2", "nodes=4"]


def test_the_terminal_shows_what_the_page_does(answer: ShardAnswer, capsys: pytest.CaptureFixture[str]) -> None:
    show_answer(answer)
    out = capsys.readouterr().out
    for words in ("How tables are cut", "Beside torchrec", "Messages replayed", "Over nodes", "note: "):
        assert words in out


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_the_page_opens_offline_and_names_from_users_never_run(answer: ShardAnswer, tmp_path: Path) -> None:
    page = write_shard_page(answer, tmp_path)
    with started_browser() as browser:
        opened = open_page(browser, page)
        marks = opened.page.evaluate(
            "[...document.querySelectorAll('[data-chart]')].map(place => [place.dataset.chart,"
            " place.querySelectorAll('svg .mark-rect path, svg .mark-symbol path').length])"
        )
        assert (opened.requests, opened.messages, opened.dialogs) == ([page.as_uri()], [], [])
        assert {name for name, count in marks if count} == {"load", "timeline", "scaling", "sensitivity"}
        assert EVIL in opened.page.inner_text("#table-placements")
