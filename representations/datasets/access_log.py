"""Logs of accesses to ids, in order: the bundled one of a recommendation service, and files that a user has."""

import lzma
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from profiles.errors import CorruptFileError, InputError

__all__ = ["SCARAB", "load_access_log"]

SCARAB = "scarab"
_SCARAB_FILE = Path(__file__).parents[1] / "data" / "scarab.trace.xz"
_BYTES_PER_ID = 8
_LIMITS = np.iinfo(np.int64)
_MOST_CHARACTERS = 40
_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)

Ids = NDArray[np.int64]


def load_access_log(source: str | Path) -> Ids:
    """Ids in the order of access, [N]: `scarab`, or a file.

    `scarab` is the bundled log of Scarab Research's recommendations: 1,245,184 accesses to 258,368 ids. Files are
    big-endian 64-bit integers without a header (`*.trace`, or compressed `*.trace.xz`), NumPy's `*.npy`, or, of any
    other name, text with one id per line. Ids are labels, of any sign; `np.unique(..., return_inverse=True)` makes rows
    of a table of them.

    Raises:
        InputError: no such file, or an id that is no integer of 64 bits; names file and place.
        CorruptFileError: a truncated file, or text that is not UTF-8.
    """
    path = _SCARAB_FILE if source == SCARAB else Path(source)
    if not path.is_file():
        raise InputError(f"access log: must be {SCARAB!r} or a file, but there is no {path}")
    ids_N = _read(path)
    if ids_N.ndim != 1 or not np.issubdtype(ids_N.dtype, np.integer):
        raise InputError(f"{path}: must hold one row of integers, but holds {ids_N.dtype} of shape {ids_N.shape}")
    if ids_N.dtype == np.uint64:
        is_beyond_N = ids_N.astype(np.uint64) > _LIMITS.max
        if is_beyond_N.any():
            place = int(is_beyond_N.argmax())
            raise InputError(f"{path}: access {place}: must be at most {_LIMITS.max}, but is {ids_N[place]}")
    return ids_N.astype(np.int64)


def _read(path: Path) -> NDArray[np.generic]:
    readers = {".npy": _read_npy, ".trace": _read_integers, ".xz": _read_integers}
    return readers.get(path.suffix, _read_text)(path)


def _read_npy(path: Path) -> NDArray[np.generic]:
    try:
        loaded: NDArray[np.generic] = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise CorruptFileError(f"{path}: not a whole NumPy file: {error}") from error
    return loaded


def _read_text(path: Path) -> Ids:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise CorruptFileError(
            f"{path}: is no UTF-8 text with an id a line ({error}); other formats end in .npy, .trace or .xz"
        ) from error
    return np.array([_integer(path, number, line) for number, line in enumerate(lines, start=1)], dtype=np.int64)


def _integer(path: Path, number: int, line: str) -> int:
    text = line.strip()
    # A long number is not made an integer, which Python refuses to do beyond some thousands of digits.
    if _INTEGER.fullmatch(text) and len(text) <= _MOST_CHARACTERS and _LIMITS.min <= int(text) <= _LIMITS.max:
        return int(text)
    raise InputError(f"{path}: line {number}: must be one integer of 64 bits, but got {line[:40]!r}")


def _read_integers(path: Path) -> Ids:
    body = path.read_bytes()
    if path.suffix == ".xz":
        try:
            body = lzma.decompress(body)
        except lzma.LZMAError as error:
            raise CorruptFileError(f"{path}: not a whole xz file: {error}") from error
    if len(body) % _BYTES_PER_ID:
        raise CorruptFileError(f"{path}: {len(body)} bytes are no whole number of 64-bit integers")
    return np.frombuffer(body, dtype=">i8").astype(np.int64)
