from pathlib import Path

import optuna
import pytest

from planner.search import load_search, run_search
from planner.search.storage import shown_url, sole_use
from planner.study import SearchSection, SpaceSection
from profiles.errors import InputError, StorageError
from tests.planner.search.closed_form import RungedTrainer, make_task, predict, train


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'trials.db'}"


@pytest.mark.slow
def test_a_search_in_a_database_is_that_in_a_journal(tmp_path: Path, url: str) -> None:
    trainer = RungedTrainer()
    in_file = run_search(make_task(), predict, trainer, directory=tmp_path / "a", trials=3, sampler="guided")
    in_base = run_search(
        make_task(), predict, RungedTrainer(), directory=tmp_path / "b", trials=3, sampler="guided", storage=url
    )
    assert in_base == in_file == load_search(tmp_path / "b", url)
    assert not (tmp_path / "b" / "journal.log").exists()


@pytest.mark.slow
def test_an_interrupted_search_resumes_from_its_database(tmp_path: Path, url: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_search(make_task(), predict, RungedTrainer(4), directory=tmp_path, trials=3, sampler="guided", storage=url)
    trainer = RungedTrainer()
    run_search(make_task(), predict, trainer, directory=tmp_path, trials=3, sampler="guided", storage=url)
    again = run_search(make_task(), predict, trainer, directory=tmp_path / "w", trials=3, sampler="guided")
    assert {t.model.name for t in load_search(tmp_path, url).feasible} == {t.model.name for t in again.feasible}


def test_other_questions_are_other_studies_of_one_database(tmp_path: Path, url: str) -> None:
    other = make_task(SearchSection(space=SpaceSection(dim=(2,))))
    run_search(make_task(), predict, train, directory=tmp_path / "a", trials=1, storage=url)
    run_search(other, predict, train, directory=tmp_path / "b", trials=2, storage=url)
    assert len(optuna.get_all_study_names(url)) == 2
    assert len(load_search(tmp_path / "a", url).trials) == 1


@pytest.mark.slow
def test_one_study_is_not_searched_from_two_folders_at_once(tmp_path: Path, url: str) -> None:
    run_search(make_task(), predict, train, directory=tmp_path / "a", trials=1, storage=url)
    run_search(make_task(), predict, train, directory=tmp_path / "b", trials=1, storage=url)
    with sole_use(tmp_path / "a", url), pytest.raises(StorageError, match="another search"):
        run_search(make_task(), predict, train, directory=tmp_path / "b", trials=2, storage=url)


def test_a_search_elsewhere_is_asked_for_by_its_storage(tmp_path: Path, url: str) -> None:
    run_search(make_task(), predict, train, directory=tmp_path, trials=1, storage=url)
    with pytest.raises(InputError, match="name the storage"):
        load_search(tmp_path)


@pytest.mark.parametrize("bad", ["nonsense", "sqlite:////nowhere/at/all.db", "unknown://user:secret@host/db"])
def test_a_database_that_cannot_be_opened_is_named_without_its_password(tmp_path: Path, bad: str) -> None:
    with pytest.raises(StorageError, match="cannot be opened") as caught:
        run_search(make_task(), predict, train, directory=tmp_path, trials=1, storage=bad)
    assert "secret" not in str(caught.value)
    assert shown_url("mysql://me:secret@host/db") == "mysql://host/db"
