from profiles.charts import component_table
from tests.profiles.rows import latency, row


def test_rows_of_one_depth_stand_together() -> None:
    rows = [row(path="", depth=0), row(path="a", depth=1), row(path="a.x", depth=2), row(path="b", depth=1)]
    assert component_table(rows)["path"].to_list() == ["", "a", "b", "a.x"]


def test_rates_come_from_the_time_alone() -> None:
    table = component_table([row(in_situ=latency(5.0), warm=latency(2.0), flops=4e9, bytes_moved=1e6)])
    figures = table.row(0, named=True)
    assert (figures["latency_ms"], figures["in_situ_ms"], figures["warm_ms"]) == (5.0, 5.0, 2.0)
    assert (figures["tflops_per_s"], figures["gigabytes_per_s"], figures["cpu_ms"]) == (2.0, 0.5, 2.0)


def test_what_is_not_known_is_empty() -> None:
    figures = component_table([row(flops=1.0)]).row(0, named=True)
    assert figures["latency_ms"] is figures["tflops_per_s"] is figures["cold_iqr_ms"] is None


def test_an_empty_table_has_its_columns() -> None:
    assert component_table([]).columns == component_table([row()]).columns
