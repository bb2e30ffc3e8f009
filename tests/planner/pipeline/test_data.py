from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planner.pipeline.data import load_study_data
from planner.study import DataSection, FeatureChoice, ModelSection, Study, WorkloadSection, load_study
from profiles.errors import CorruptFileError, InputError


@pytest.fixture(scope="session")
def study(study_file: Path) -> Study:
    return load_study(study_file)


def with_skew(study: Study, skew: str | dict[str, float], folder: Path = Path()) -> Study:
    return replace(study, workload=WorkloadSection(id_skew=skew), folder=folder)


def criteo_file(folder: Path, rows: int = 60) -> Path:
    rng = np.random.default_rng(0)
    lines = [
        "\t".join(
            [
                str(rng.integers(2)),
                *(str(rng.integers(50)) for _ in range(13)),
                *(f"{rng.integers(9):08x}" for _ in range(26)),
            ]
        )
        for _ in range(rows)
    ]
    file = folder / "train.tsv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_features_and_rows_are_those_that_the_study_names(study: Study) -> None:
    data = load_study_data(study)
    assert [feature.name for feature in data.features] == ["carrier", "dest", "hour"]
    assert data.dense_features == 1
    assert sum(len(part) for part in (data.splits.train, data.splits.validation, data.splits.test)) == 6000


def test_skew_is_fitted_to_the_data_unless_it_is_given(study: Study, tmp_path: Path) -> None:
    fitted = load_study_data(with_skew(study, "data")).zipf
    assert fitted["dest"] > 0
    assert set(load_study_data(with_skew(study, "uniform")).zipf.values()) == {0.0}
    assert set(load_study_data(with_skew(study, {"zipf": 1.2})).zipf.values()) == {1.2}
    (tmp_path / "ids.log").write_text("7\n" * 90 + "8\n" * 9 + "9\n")
    assert load_study_data(with_skew(study, "ids.log", tmp_path)).zipf["hour"] > 1.5


def test_an_empty_id_log_is_refused(study: Study, tmp_path: Path) -> None:
    (tmp_path / "ids.log").write_text("\n")
    with pytest.raises(InputError, match=r"ids\.log: must hold ids"):
        load_study_data(with_skew(study, "ids.log", tmp_path))


def test_a_declared_cardinality_or_pooling_must_agree_with_the_data(study: Study) -> None:
    def declared(choice: FeatureChoice) -> Study:
        return replace(study, model=ModelSection(features=(choice,)))

    assert load_study_data(declared(FeatureChoice(name="hour", cardinality=24, pooling=1))).features[0].name == "hour"
    with pytest.raises(InputError, match=r"hour\.cardinality: must be >= "):
        load_study_data(declared(FeatureChoice(name="hour", cardinality=3)))
    with pytest.raises(InputError, match=r"hour\.pooling: must be 1"):
        load_study_data(declared(FeatureChoice(name="hour", pooling=4)))


def test_a_criteo_file_is_read(study: Study, tmp_path: Path) -> None:
    section = DataSection(source="criteo-kaggle", path=criteo_file(tmp_path), split="random")
    data = load_study_data(replace(study, data=section, model=ModelSection()))
    assert len(data.features) == 26
    assert data.dense_features == 13


def test_a_missing_criteo_file_is_named(study: Study, tmp_path: Path) -> None:
    section = DataSection(source="criteo-kaggle", path=tmp_path / "none.tsv")
    with pytest.raises(InputError, match=r"none\.tsv"):
        load_study_data(replace(study, data=section, model=ModelSection()))


def test_not_a_number_in_the_data_is_named_with_its_row(study: Study, tmp_path: Path) -> None:
    file = criteo_file(tmp_path)
    lines = file.read_text().splitlines()
    lines[2] = "\t".join(["1", "nan", *lines[2].split("\t")[2:]])
    file.write_text("\n".join(lines) + "\n")
    section = DataSection(source="criteo-kaggle", path=file)
    with pytest.raises(CorruptFileError, match=r"train\.tsv: row 3, I1: must be an integer, but got 'nan'"):
        load_study_data(replace(study, data=section, model=ModelSection()))
    allowed = replace(study, data=replace(section, max_bad_share=0.02, split="random"), model=ModelSection())
    with pytest.warns(UserWarning, match=r"bad rows left out: 1; the first: .*train\.tsv: row 3, I1"):
        assert load_study_data(allowed).notes
