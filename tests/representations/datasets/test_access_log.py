import lzma
from pathlib import Path

import numpy as np
import pytest

from profiles.errors import CorruptFileError, InputError
from representations.datasets.access_log import load_access_log


def test_bundled_log_has_its_published_size() -> None:
    ids = load_access_log("scarab")
    assert len(ids) == 1_245_184
    assert len(np.unique(ids)) == 258_368


def test_every_format_reads_the_same(tmp_path: Path) -> None:
    ids = np.array([3, 1, 2**40], dtype=np.int64)
    body = ids.astype(">i8").tobytes()
    (tmp_path / "a.trace").write_bytes(body)
    (tmp_path / "a.trace.xz").write_bytes(lzma.compress(body))
    for name in ("a.txt", "a.csv", "a.log", "plain"):
        (tmp_path / name).write_text("3\n1\n1099511627776\n")
    np.save(tmp_path / "a.npy", ids)
    for name in ("a.trace", "a.trace.xz", "a.txt", "a.csv", "a.log", "plain", "a.npy"):
        assert load_access_log(tmp_path / name).tolist() == ids.tolist()


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("a.txt", b"1\nx\n", r"line 2: must be one integer of 64 bits, but got 'x'"),
        ("a.txt", b"1\n--2\n", r"line 2: must be one integer of 64 bits, but got '--2'"),
        ("a.txt", "²".encode(), r"line 1: must be one integer of 64 bits, but got '²'"),
        ("a.txt", b"9" * 20, r"line 1: must be one integer of 64 bits, but got '9999"),
        ("a.txt", b"9" * 5000, r"line 1: must be one integer of 64 bits, but got '9999"),
        ("a.csv", b"1\n\xff\n", r"a\.csv: is no UTF-8 text"),
        ("a.bin", b"\x80", r"a\.bin: is no UTF-8 text .* other formats end in \.npy, \.trace or \.xz"),
        ("a.trace", b"1234567", r"7 bytes are no whole number"),
        ("a.trace.xz", b"1234567", r"not a whole xz file"),
        ("a.npy", b"\x93NUMPY", r"not a whole NumPy file"),
    ],
)
def test_bad_file_names_place_and_value(tmp_path: Path, name: str, body: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(body)
    with pytest.raises((InputError, CorruptFileError), match=message):
        load_access_log(tmp_path / name)


def test_missing_file_and_floats_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no"):
        load_access_log(tmp_path / "none.trace")
    np.save(tmp_path / "f.npy", np.array([1.5]))
    with pytest.raises(InputError, match="float64"):
        load_access_log(tmp_path / "f.npy")


def test_the_ends_of_64_bits_are_read_and_what_lies_beyond_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"{-(2**63)}\n{2**63 - 1}\n")
    assert load_access_log(tmp_path / "a.txt").tolist() == [-(2**63), 2**63 - 1]
    np.save(tmp_path / "a.npy", np.array([1, 2**63], dtype=np.uint64))
    with pytest.raises(InputError, match="access 1: must be at most 9223372036854775807, but is 9223372036854775808"):
        load_access_log(tmp_path / "a.npy")
