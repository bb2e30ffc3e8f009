"""What the suite measures, by the size of the device."""

from collections.abc import Iterator
from dataclasses import dataclass

from profiles.component import Component, make_component
from profiles.errors import InputError
from representations.phases import backward_of

__all__ = ["SuiteCase", "suite_cases"]

MLP_LAYERS = 20
TABLES = 64
ROWS_PER_TABLE = 1_000_000
_BYTES_PER_FLOAT = 4
# Rows and the optimizer's state leave room for gradients and for what else runs.
_SHARE_OF_MEMORY = 0.25
# The suite's tables: floats of a row, ids of a bag, samples of a batch.
_DIM, _POOLING, _TABLE_BATCH = 64, 20.0, 256
# How the lengths and ids of a batch go to the device.
_COPIES = {"combined": "in one tensor", "per_table": "in two tensors per table"}
Phases = ("forward", "backward", "optimizer")


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteCase:
    """A component to measure; `is_cold` with the caches swept before every call, `scale` where it was cut to fit."""

    name: str
    component: Component
    is_cold: bool = False
    scale: str = ""


def suite_cases(*, is_accelerator: bool, memory_bytes: float, is_quick: bool = False) -> tuple[SuiteCase, ...]:
    """Matrix products, the MLP, the tables and their ids' trip to the device, of sizes that keep it busy for
    milliseconds, not minutes.

    64 tables of a million rows are cut to a quarter of the memory, and say so. `is_quick` leaves a few small ones.

    Raises:
        InputError: no memory.
    """
    if not memory_bytes > 0:
        raise InputError(f"suite: memory_bytes must be > 0, but got {memory_bytes}")
    dtypes: tuple[str, ...] = ("float32", "bfloat16", "float16") if is_accelerator else ("float32", "bfloat16")
    sizes: tuple[int, ...] = (512, 1024, 2048, 4096, 8192) if is_accelerator else (128, 256, 512, 1024)
    width, batch = (4096, 2048) if is_accelerator else (512, 128)
    if is_quick:
        dtypes, sizes, width, batch, memory_bytes = ("float32",), (64, 128), 32, 16, min(memory_bytes, 1e7)
    table_batch = 16 if is_quick else _TABLE_BATCH
    return (
        *(_gemm(size, dtype) for dtype in dtypes for size in sizes),
        *(_mlp(width, batch, dtype, phase) for dtype in dtypes for phase in Phases),
        *_tables(memory_bytes, table_batch),
        *(_copy(table_batch, layout, how) for layout, how in _COPIES.items()),
    )


def _gemm(size: int, dtype: str) -> SuiteCase:
    component = make_component("gemm", size, {"inner": size, "columns": size}, dtype=dtype)
    return SuiteCase(name=f"GEMM {size}", component=component)


def _mlp(width: int, batch: int, dtype: str, phase: str) -> SuiteCase:
    shape = {"layers": MLP_LAYERS, "width": width}
    component = make_component("mlp", batch, shape, dtype=dtype, phase=phase)
    label = "SGD" if phase == "optimizer" else phase
    return SuiteCase(name=f"MLP {MLP_LAYERS} x {width}, batch {batch}, {label}", component=component)


def _tables(memory_bytes: float, batch: int) -> Iterator[SuiteCase]:
    affordable = int(_SHARE_OF_MEMORY * memory_bytes / (TABLES * (_DIM + 1) * _BYTES_PER_FLOAT))
    rows = max(1, min(ROWS_PER_TABLE, affordable))
    scale = "" if rows == ROWS_PER_TABLE else f"{rows:,} rows per table instead of {ROWS_PER_TABLE:,}"
    shape = {"tables": TABLES, "rows": TABLES * rows, "dim": _DIM, "pooling": _POOLING, "zipf": 0.0}
    forward = make_component("embedding_group", batch, {**shape, "backend": "fbgemm"})
    stem = f"{TABLES} tables of {rows:,} x {_DIM}, batch {batch}"
    yield SuiteCase(name=f"{stem}, forward", component=forward, is_cold=True, scale=scale)
    yield SuiteCase(
        name=f"{stem}, backward + row-wise Adagrad", component=backward_of(forward), is_cold=True, scale=scale
    )


def _copy(batch: int, layout: str, how: str) -> SuiteCase:
    ids = round(batch * _POOLING)
    component = make_component("host_to_device", batch, {"tables": TABLES, "ids_per_table": ids, "layout": layout})
    return SuiteCase(name=f"ids of {TABLES} tables to the device, batch {batch}, {how}", component=component)
