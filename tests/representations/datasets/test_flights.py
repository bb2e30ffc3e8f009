from pathlib import Path

import numpy as np
import polars as pl
import pytest

from profiles.errors import CorruptFileError, InputError, UnknownNameError
from representations.datasets import Dataset, load_dataset, zipf_exponents
from representations.presets import get_preset

COLUMNS = ("tailnum", "flight", "carrier", "origin", "dest", "hour", "minute", "month", "day")


@pytest.fixture(scope="module")
def flights() -> Dataset:
    return load_dataset("flights")


def written(path: Path, **changes: list[object]) -> Path:
    frame = {"label": [0, 1, 0], "distance": [100, 200, 300]} | {name: ["a", "b", "a"] for name in COLUMNS}
    pl.DataFrame(frame | changes, strict=False).write_parquet(path)
    return path


def test_the_bundled_data_is_whole(flights: Dataset) -> None:
    assert len(flights) == 327_346
    assert flights.positive_rate == pytest.approx(0.237, abs=5e-4)
    assert flights.features == get_preset("dlrm-flights").features
    assert flights.ids_NS.min() == 1


def test_ids_are_numbered_by_first_appearance(flights: Dataset) -> None:
    assert flights.ids_NS[0].tolist() == [1] * 9
    first_seen = np.unique(flights.ids_NS[:, 0], return_index=True)[1]
    assert (np.diff(first_seen) > 0).all()


def test_calendar_columns_are_not_skewed_and_destinations_are(flights: Dataset) -> None:
    exponents = zipf_exponents(flights)
    assert exponents["month"] == 0.0
    assert exponents["dest"] == 0.8


def test_rows_and_features_can_be_limited() -> None:
    part = load_dataset("flights", features=["month", "carrier"], rows=100)
    assert part.ids_NS.shape == (100, 2)
    assert [feature.name for feature in part.features] == ["month", "carrier"]


def test_missing_values_have_id_0(tmp_path: Path) -> None:
    path = written(tmp_path / "f.parquet", tailnum=["x", None, "y"])
    assert load_dataset("flights", path).ids_NS[:, 0].tolist() == [1, 0, 2]


def test_a_feature_that_the_data_lacks_lists_the_others() -> None:
    with pytest.raises(UnknownNameError, match=r"flights: feature: unknown name 'tailnumber'.*carrier"):
        load_dataset("flights", features=["tailnumber"])
    with pytest.raises(InputError, match="features must be distinct, but got"):
        load_dataset("flights", features=["day", "day"])
    with pytest.raises(InputError, match="must be distinct and at least one"):
        load_dataset("flights", features=[])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": [0, 2, 1]}, "label, row 1: must be 0 or 1, but got 2"),
        ({"label": [0, None, 1]}, "label, row 1: must be 0 or 1, but got None"),
        ({"distance": [1.0, 2.0, float("nan")]}, "distance, row 2: must be finite and >= 0, but got nan"),
        ({"distance": [float("inf"), 2.0, 1.0]}, "distance, row 0: must be finite and >= 0, but got inf"),
        ({"distance": ["far", "near", "1"]}, "distance must hold numbers"),
    ],
)
def test_bad_values_name_file_column_row_and_value(
    tmp_path: Path, changes: dict[str, list[object]], message: str
) -> None:
    with pytest.raises(InputError, match=f"f.parquet: {message}"):
        load_dataset("flights", written(tmp_path / "f.parquet", **changes))


def test_a_missing_column_lists_what_there_is(tmp_path: Path) -> None:
    pl.DataFrame({"label": [0], "speed": [1]}).write_parquet(tmp_path / "f.parquet")
    with pytest.raises(InputError, match=r"lacks column 'distance'; has: label, speed"):
        load_dataset("flights", tmp_path / "f.parquet")


def test_truncated_and_absent_files_are_named(tmp_path: Path) -> None:
    path = written(tmp_path / "f.parquet")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(CorruptFileError, match=r"f\.parquet: cannot be read as Parquet"):
        load_dataset("flights", path)
    with pytest.raises(InputError, match=r"none\.parquet: no such file"):
        load_dataset("flights", tmp_path / "none.parquet")


def test_a_row_limit_must_be_positive() -> None:
    with pytest.raises(InputError, match="rows: must be >= 1, but got 0"):
        load_dataset("flights", rows=0)
