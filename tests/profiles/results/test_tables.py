import csv
from pathlib import Path

from profiles.parquet import read_profiles
from profiles.results.tables import CsvWriter, ParquetWriter
from tests.profiles.results.sample import EVIL, sample_profile


def test_the_csv_has_a_line_per_row_and_a_column_per_figure(tmp_path: Path) -> None:
    with CsvWriter().write(sample_profile(), tmp_path).open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["path"] for line in lines] == ["", "(self)", "a", "list", "list.0", "list.1", EVIL]
    assert (lines[2]["figure_gpu_ms"], lines[0]["figure_gpu_ms"]) == ("3.5", "")
    assert lines[2]["artefacts"] == '{"trace": "traces/a.json.gz"}'


def test_the_parquet_file_reads_back(tmp_path: Path) -> None:
    profile = sample_profile()
    assert read_profiles(ParquetWriter().write(profile, tmp_path)) == list(profile.rows)
