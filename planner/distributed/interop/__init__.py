"""To and from torchrec: tables of its models, plans that it can run, its planner and its costs to compare with.

Exports are plain data, and torchrec's costs plain arithmetic, so that both work where torchrec is not installed.
"""

from typing import TYPE_CHECKING

from planner.distributed.interop.exported import (
    ExportedShard,
    ExportedTable,
    TorchrecExport,
    export_plan,
    read_export,
)
from planner.distributed.interop.runnable import RunnableCosts
from planner.distributed.interop.torchrec_costs import TorchrecCosts
from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from planner.distributed.interop.comparison import PlannerRow, compare_with_torchrec
    from planner.distributed.interop.rival import plan_with_torchrec
    from planner.distributed.interop.torchrec_model import module_tables, table_modules
    from planner.distributed.interop.torchrec_objects import parameter_constraints, torchrec_plan

__all__ = [
    "ExportedShard",
    "ExportedTable",
    "PlannerRow",
    "RunnableCosts",
    "TorchrecCosts",
    "TorchrecExport",
    "compare_with_torchrec",
    "export_plan",
    "module_tables",
    "parameter_constraints",
    "plan_with_torchrec",
    "read_export",
    "table_modules",
    "torchrec_plan",
]

# These load torchrec, or all that plans and predicts.
__getattr__ = lazy_attributes(
    __name__,
    {
        "PlannerRow": "planner.distributed.interop.comparison",
        "compare_with_torchrec": "planner.distributed.interop.comparison",
        "module_tables": "planner.distributed.interop.torchrec_model",
        "parameter_constraints": "planner.distributed.interop.torchrec_objects",
        "plan_with_torchrec": "planner.distributed.interop.rival",
        "table_modules": "planner.distributed.interop.torchrec_model",
        "torchrec_plan": "planner.distributed.interop.torchrec_objects",
    },
)
