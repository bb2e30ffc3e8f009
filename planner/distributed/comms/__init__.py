"""Measure collectives where they will run, in PARAM's two modes, and give the network what was measured."""

from typing import TYPE_CHECKING

from planner.distributed.comms.calls import CollectiveCall
from planner.distributed.comms.job import CallTime, CommsJob, message_sizes
from planner.distributed.comms.launching import benchmark_comms
from planner.distributed.comms.result import (
    CommsResult,
    ReplayedCall,
    measured_cluster,
    read_comms,
    replay_beside_predicted,
    write_comms,
)
from planner.distributed.comms.traces import read_trace, write_trace
from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from planner.distributed.comms.recording import RecordCollectives

__all__ = [
    "CallTime",
    "CollectiveCall",
    "CommsJob",
    "CommsResult",
    "RecordCollectives",
    "ReplayedCall",
    "benchmark_comms",
    "measured_cluster",
    "message_sizes",
    "read_comms",
    "read_trace",
    "replay_beside_predicted",
    "write_comms",
    "write_trace",
]

# This loads torch.
__getattr__ = lazy_attributes(__name__, {"RecordCollectives": "planner.distributed.comms.recording"})
