import pytest

from planner.report.blocks import Rows
from planner.report.components import component_rows, components_section
from planner.report.siblings import collapsed_rows, levels_that_fit
from profiles.records import ComponentProfile
from tests.planner.report.sample import profile_row


def model(embeddings: int) -> tuple[ComponentProfile, ...]:
    """As many like embeddings of two rows each, of which the second is the slowest, and a table beside them."""
    parts = [
        row
        for i in range(embeddings)
        for row in (
            profile_row(f"embeddings.{i}", "DheEmbedding", 2, 0.2 if i == 1 else 0.1),
            profile_row(f"embeddings.{i}.encoder", "DheEncoder", 3, 0.05),
        )
    ]
    return (
        profile_row("", "Dlrm", 0, 1.0),
        profile_row("embeddings", "ModuleList", 1, 0.6, "aggregated"),
        *parts,
        profile_row(f"embeddings.{embeddings}", "EmbeddingBag", 2, 0.1),
        profile_row("top_mlp", "Mlp", 1, 0.2),
        profile_row("top_mlp.0", "Linear", 2, 0.1),
    )


def labels(rows: Rows) -> list[str]:
    return [row["label"] for row in rows]


def test_the_slowest_of_like_embeddings_is_shown_and_the_rest_are_summed() -> None:
    rows = collapsed_rows(component_rows(model(4), {"embeddings.0": "carrier"}))
    expected = ["whole model", "Σ embeddings", "1", "encoder", "Σ carrier, 2, 3: 3 like it", "4", "top_mlp", "0"]
    assert labels(rows) == expected
    summed = rows[4]
    assert (summed["in_situ_ms"], summed["share"], summed["warm_ms"]) == (pytest.approx(0.3), pytest.approx(0.3), None)


def test_two_alike_both_stay() -> None:
    rows = component_rows(model(2))
    assert collapsed_rows(rows) == rows


def test_many_names_are_cut() -> None:
    rows = collapsed_rows(component_rows(model(10)))
    assert "Σ 0, 2, 3, 4, 5, 6, …: 9 like it" in labels(rows)


def test_embeddings_that_were_never_called_add_up_to_nothing() -> None:
    skipped = [profile_row(f"embeddings.{i}", "Bag", 2, 1.0).skipped("never called") for i in range(3)]
    profile = (profile_row("", "Dlrm", 0, 1.0), profile_row("embeddings", "ModuleList", 1, 0.6), *skipped)
    rows = component_rows(profile)
    last = collapsed_rows(tuple({**row, "in_situ_ms": row["in_situ_ms"] if row["depth"] < 2 else None} for row in rows))
    assert (last[-1]["in_situ_ms"], last[-1]["provenance"]) == (None, "skipped")


def test_rows_that_do_not_fit_go_a_whole_level_at_a_time() -> None:
    rows = component_rows(model(2))
    assert labels(levels_that_fit(rows, 8)) == ["whole model", "Σ embeddings", "0", "1", "2", "top_mlp", "0"]
    assert labels(levels_that_fit(rows, 1)) == ["whole model", "Σ embeddings", "top_mlp"]
    assert levels_that_fit(rows, 80) == rows


def test_the_table_says_what_it_sums_up_and_the_frame_holds_every_row() -> None:
    (table,) = components_section(model(30)).tables
    assert "the rest as one row" in table.note
    assert len(table.rows) == len(model(30))
    assert table.left_out == 58
    assert not components_section(model(1)).tables[0].note


def test_no_rows_stay_none() -> None:
    assert collapsed_rows(()) == levels_that_fit((), 3) == ()
