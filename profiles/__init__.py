"""Measure the building blocks of any PyTorch model, module by module."""

from typing import TYPE_CHECKING

from profiles.component import Component, Work, make_component
from profiles.devices import LocalDevice, local_devices, resolve_device
from profiles.errors import (
    CorruptFileError,
    InfeasibleError,
    InputError,
    MeasurementError,
    RecplanError,
    StorageError,
    UnknownNameError,
)
from profiles.fingerprint import current_fingerprint
from profiles.hardware import Hardware, catalogue, get_hardware
from profiles.lazy import lazy_attributes
from profiles.model_profile import ModelProfile
from profiles.parts import TornLineWarning
from profiles.providers import (
    BuiltComponent,
    ComponentProvider,
    InputBatch,
    ModelProvider,
    Target,
    find_target,
    load_target,
    model_providers,
)
from profiles.records import ComponentProfile, Fingerprint, Latency
from profiles.store import ProfileStore
from profiles.sweep import SweepOptions, SweepProgress, SweepResult, sweep
from profiles.timing import TimingOptions, measure_latency

if TYPE_CHECKING:
    from profiles.executors.in_process import InProcessExecutor
    from profiles.executors.ray import RayExecutor
    from profiles.profile_options import ProfileOptions, ProfileProgress
    from profiles.walk import merge_parts, profile_model, profile_target, walking

__all__ = [
    "BuiltComponent",
    "Component",
    "ComponentProfile",
    "ComponentProvider",
    "CorruptFileError",
    "Fingerprint",
    "Hardware",
    "InProcessExecutor",
    "InfeasibleError",
    "InputBatch",
    "InputError",
    "Latency",
    "LocalDevice",
    "MeasurementError",
    "ModelProfile",
    "ModelProvider",
    "ProfileOptions",
    "ProfileProgress",
    "ProfileStore",
    "RayExecutor",
    "RecplanError",
    "StorageError",
    "SweepOptions",
    "SweepProgress",
    "SweepResult",
    "Target",
    "TimingOptions",
    "TornLineWarning",
    "UnknownNameError",
    "Work",
    "catalogue",
    "current_fingerprint",
    "find_target",
    "get_hardware",
    "load_target",
    "local_devices",
    "make_component",
    "measure_latency",
    "merge_parts",
    "model_providers",
    "profile_model",
    "profile_target",
    "resolve_device",
    "sweep",
    "walking",
]

# These load torch or Ray.
__getattr__ = lazy_attributes(
    __name__,
    {
        "InProcessExecutor": "profiles.executors.in_process",
        "RayExecutor": "profiles.executors.ray",
        "ProfileOptions": "profiles.profile_options",
        "ProfileProgress": "profiles.profile_options",
        "merge_parts": "profiles.walk",
        "profile_model": "profiles.walk",
        "profile_target": "profiles.walk",
        "walking": "profiles.walk",
    },
)
