from dataclasses import replace
from pathlib import Path

import pytest

from planner.search.manifest import MANIFEST, check_manifest, manifest_of, read_manifest
from planner.study import GroupSection, ModelSection, SearchSection, SpaceSection, TrainingSection
from profiles.errors import InputError, StorageError
from tests.planner.search.closed_form import FEATURES, SMALL_SPACE, make_task

SECTION = SearchSection(space=SMALL_SPACE)


def test_the_manifest_is_written_once_and_accepted_again(tmp_path: Path) -> None:
    check_manifest(tmp_path, make_task(SECTION))
    check_manifest(tmp_path, make_task(replace(SECTION, trials=99)))
    assert read_manifest(tmp_path) == manifest_of(make_task(SECTION))


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        (
            {"section": replace(SECTION, space=SpaceSection(dim=(2, 4)))},
            r"search\.space\.dim was \[2, 4, 8\], is now \[2, 4\]",
        ),
        ({"section": replace(SECTION, objectives=("auc",))}, r"search\.objectives"),
        ({"section": replace(SECTION, constraints={"flops": 9})}, r"search\.constraints\.flops was null, is now 9"),
        (
            {"section": replace(SECTION, training=TrainingSection(epochs=7))},
            r"search\.training\.epochs was 2, is now 7",
        ),
        ({"data": {"source": "flights"}}, r'data\.source was "closed form", is now "flights"'),
        ({"features": FEATURES[:1]}, r"features was \[.*\.\.\., is now"),
        ({"model": ModelSection(top_mlp=(8, 1))}, r"model\.top_mlp"),
        ({"seed": 5}, r"seed was 0, is now 5"),
        ({"latency_batch": 7}, r"search\.latency_batch was 128, is now 7"),
    ],
)
def test_a_changed_question_is_refused_by_name(tmp_path: Path, changes: dict[str, object], difference: str) -> None:
    check_manifest(tmp_path, make_task(SECTION))
    with pytest.raises(InputError, match=difference):
        check_manifest(tmp_path, make_task(**{"section": SECTION, **changes}))  # type: ignore[arg-type]  # any fields


def test_a_changed_group_is_refused_by_its_key(tmp_path: Path) -> None:
    small, large = (
        SearchSection(space=SpaceSection(groups=(GroupSection(kept_rows=shares),))) for shares in ((1.0,), (1.0, 0.5))
    )
    check_manifest(tmp_path, make_task(small))
    with pytest.raises(InputError, match=r"groups\[0\]\.kept_rows was \[1\.0\], is now \[1\.0, 0\.5\]"):
        check_manifest(tmp_path, make_task(large))


def test_a_manifest_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=MANIFEST):
        check_manifest(tmp_path / "nowhere", make_task())
