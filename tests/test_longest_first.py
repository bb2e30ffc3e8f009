from pathlib import Path

from tests.longest_first import LONGEST

ROOT = Path(__file__).parent.parent


def test_the_files_that_come_first_are_there() -> None:
    assert [file for file in LONGEST if not (ROOT / file).is_file()] == []
