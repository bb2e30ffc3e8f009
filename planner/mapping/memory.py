"""How the devices' memory is used, as a frame."""

from typing import TYPE_CHECKING

from serving_sim.plan import Plan

if TYPE_CHECKING:
    import polars as pl

__all__ = ["memory_frame"]


def memory_frame(plan: Plan) -> "pl.DataFrame":
    """One row per path, then one `free` row per device with a budget.

    Columns: device, path, representation, parameter_bytes, budget_bytes, share (of the budget).
    """
    import polars as pl

    schema = {
        "device": pl.String,
        "path": pl.String,
        "representation": pl.String,
        "parameter_bytes": pl.Int64,
        "budget_bytes": pl.Int64,
        "share": pl.Float64,
    }
    rows: list[tuple[str, str, str, int, int | None, float | None]] = []
    for device in plan.devices:
        budget = device.memory_bytes
        paths = [path for path in plan.paths if path.device == device.name]
        taken = [(path.name, path.representation, path.parameter_bytes) for path in paths]
        if budget is not None:
            taken.append(("free", "", budget - sum(path.parameter_bytes for path in paths)))
        rows += [(device.name, *one, budget, one[2] / budget if budget else None) for one in taken]
    return pl.DataFrame(rows, schema=schema, orient="row")
