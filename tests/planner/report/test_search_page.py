from dataclasses import replace
from pathlib import Path

from planner.report.search_page import build_search_page, search_answer
from tests.planner.report.sample import sample_search


def test_a_search_has_a_page_of_its_own_with_its_frames(tmp_path: Path) -> None:
    search = replace(sample_search(), screened="57 candidates of the space, none of them ruled out")
    page = build_search_page(search, "night", tmp_path, ("flights",))
    text = page.read_text(encoding="utf-8")
    assert "57 candidates of the space" in text
    assert "recplan search" in text
    assert (tmp_path / "frames").is_dir()
    assert {file.name.partition(".")[0] for file in (tmp_path / "charts").iterdir()} >= {"front", "objectives"}


def test_the_answer_has_the_best_of_each_objective() -> None:
    answer = search_answer(sample_search())
    assert answer.headline == "5 candidates that no other beats in AUC, latency, parameters together."
    assert [tile.label for tile in answer.tiles] == ["Best AUC", "Best latency", "Best parameters", "Hypervolume"]


def test_without_members_there_is_only_the_number() -> None:
    assert search_answer(replace(sample_search(), trials=(), hypervolume=None)).tiles == ()
