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
    from profiles.analyses import (
        Roofline,
        achieved_roofline,
        compare_devices,
        compare_models,
        compare_modules,
        diff_profiles,
        explain_regression,
        judge_substitution,
        rank_hotspots,
        size_opportunity,
    )
    from profiles.executors.in_process import InProcessExecutor
    from profiles.executors.ray import RayExecutor
    from profiles.profile_options import ProfileOptions, ProfileProgress
    from profiles.results.profile_file import load_profile, save_profile
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
    "Roofline",
    "StorageError",
    "SweepOptions",
    "SweepProgress",
    "SweepResult",
    "Target",
    "TimingOptions",
    "TornLineWarning",
    "UnknownNameError",
    "Work",
    "achieved_roofline",
    "catalogue",
    "compare_devices",
    "compare_models",
    "compare_modules",
    "current_fingerprint",
    "diff_profiles",
    "explain_regression",
    "find_target",
    "get_hardware",
    "judge_substitution",
    "load_profile",
    "load_target",
    "local_devices",
    "make_component",
    "measure_latency",
    "merge_parts",
    "model_providers",
    "profile_model",
    "profile_target",
    "rank_hotspots",
    "resolve_device",
    "save_profile",
    "size_opportunity",
    "sweep",
    "walking",
]

# Most of these load torch or Ray.
__getattr__ = lazy_attributes(
    __name__,
    {
        "InProcessExecutor": "profiles.executors.in_process",
        "ProfileOptions": "profiles.profile_options",
        "ProfileProgress": "profiles.profile_options",
        "RayExecutor": "profiles.executors.ray",
        "Roofline": "profiles.analyses",
        "achieved_roofline": "profiles.analyses",
        "compare_devices": "profiles.analyses",
        "compare_models": "profiles.analyses",
        "compare_modules": "profiles.analyses",
        "diff_profiles": "profiles.analyses",
        "explain_regression": "profiles.analyses",
        "judge_substitution": "profiles.analyses",
        "load_profile": "profiles.results.profile_file",
        "merge_parts": "profiles.walk",
        "profile_model": "profiles.walk",
        "profile_target": "profiles.walk",
        "rank_hotspots": "profiles.analyses",
        "save_profile": "profiles.results.profile_file",
        "size_opportunity": "profiles.analyses",
        "walking": "profiles.walk",
    },
)
