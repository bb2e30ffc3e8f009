from dataclasses import replace

from profiles.model_profile import CallProfile
from profiles.results.page_blocks import Table
from profiles.results.page_tables import page_tables
from tests.profiles.results.sample import sample_profile
from tests.profiles.rows import latency

CALL = CallProfile(path="a", batch="0", signature="(float32[4, 8])", count=2, warm=latency(2.0))


def calls_table(*calls: CallProfile) -> Table:
    (table,) = [table for table in page_tables(sample_profile(calls=calls)) if table.name == "calls"]
    return table


def texts(table: Table) -> dict[str, list[str]]:
    lines = [line for group in table.groups for line in group.lines]
    return {column.title: [line.cells[at].text for line in lines] for at, column in enumerate(table.columns)}


def test_calls_of_one_pass_over_one_batch_tell_neither_phase_nor_batch() -> None:
    assert list(texts(calls_table(CALL))) == ["Component", "Inputs", "Calls", "Alone, ms", "Cold, ms"]


def test_calls_of_several_batches_and_phases_are_told_apart() -> None:
    other = replace(CALL, batch="1", weight=0.25, samples=32)
    shown = texts(calls_table(replace(CALL, weight=0.75), other, replace(other, phase="backward")))
    assert shown["Phase"] == ["forward", "forward", "backward"]
    assert (shown["Batch"], shown["Weight, %"]) == (["0", "1", "1"], ["75", "25", "25"])
    assert shown["Samples"] == ["1", "32", "32"]
