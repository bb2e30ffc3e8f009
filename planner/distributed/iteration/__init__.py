"""What an iteration of distributed training takes (Mudigere et al., arXiv 2104.05158): tasks, streams, the time."""

from planner.distributed.iteration.component_times import ComponentTimes, MeasuredTimes
from planner.distributed.iteration.dense_stack import DenseStack, perceptron
from planner.distributed.iteration.device_memory import DeviceMemory, device_memory
from planner.distributed.iteration.iteration_time import IterationTime, PhaseTime
from planner.distributed.iteration.model import predict_iteration
from planner.distributed.iteration.task_graph import Schedule, Task, schedule_tasks
from planner.distributed.iteration.training_job import TrainingJob

__all__ = [
    "ComponentTimes",
    "DenseStack",
    "DeviceMemory",
    "IterationTime",
    "MeasuredTimes",
    "PhaseTime",
    "Schedule",
    "Task",
    "TrainingJob",
    "device_memory",
    "perceptron",
    "predict_iteration",
    "schedule_tasks",
]
