"""Logs of accesses to ids, in order: the bundled one of a recommendation service, and files that a user has."""

import lzma
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from profiles.errors import CorruptFileError, InputError

__all__ = ["SCARAB", "load_access_log"]

SCARAB = "scarab"
_SCARAB_FILE = Path(__file__).parents[1] / "data" / "scarab.trace.xz"
_BYTES_PER_ID = 8

Ids = NDArray[np.int64]


def load_access_log(source: str | Path) -> Ids:
    """Ids in the order of access, [N]: `scarab`, or a file.

    `scarab` is the bundled log of Scarab Research's recommendations: 1,245,184 accesses to 258,368 ids. Files are
    big-endian 64-bit integers without a header (`*.trace`, or compressed `*.trace.xz`), NumPy's `*.npy`, or text with
    one id per line. Ids are labels, of any sign; `np.unique(..., return_inverse=True)`
    makes rows of a table of them.

    Raises:
        InputError: no such file, another suffix, or an id that is no integer; names file and place.
        CorruptFileError: a truncated file.
    """
    path = _SCARAB_FILE if source == SCARAB else Path(source)
    if not path.is_file():
        raise InputError(f"access log: must be {SCARAB!r} or a file, but there is no {path}")
    ids_N = _read(path)
    if ids_N.ndim != 1 or not np.issubdtype(ids_N.dtype, np.integer):
        raise InputError(f"{path}: must hold one row of integers, but holds {ids_N.dtype} of shape {ids_N.shape}")
    return ids_N.astype(np.int64)


def _read(path: Path) -> NDArray[np.generic]:
    readers = {
        ".npy": _read_npy,
        ".txt": _read_text,
        ".csv": _read_text,
        ".trace": _read_integers,
        ".xz": _read_integers,
    }
    if path.suffix not in readers:
        raise InputError(f"{path}: must end in one of {', '.join(sorted(readers))}")
    return readers[path.suffix](path)


def _read_npy(path: Path) -> NDArray[np.generic]:
    try:
        loaded: NDArray[np.generic] = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise CorruptFileError(f"{path}: not a whole NumPy file: {error}") from error
    return loaded


def _read_text(path: Path) -> Ids:
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.strip().lstrip("-").isdigit():
            raise InputError(f"{path}: line {number}: must be one integer, but got {line!r}")
    return np.array([int(line) for line in lines], dtype=np.int64)


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
