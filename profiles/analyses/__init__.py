"""What profiles are for: what changed and why, what is worth changing, and whether two versions do the same."""

from typing import TYPE_CHECKING

from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from profiles.analyses.bring_up import compare_devices
    from profiles.analyses.diff import diff_profiles
    from profiles.analyses.hotspots import rank_hotspots
    from profiles.analyses.numeric import compare_models, compare_modules
    from profiles.analyses.opportunity import size_opportunity
    from profiles.analyses.regression import explain_regression
    from profiles.analyses.roofline import Roofline, achieved_roofline
    from profiles.analyses.substitution import judge_substitution

__all__ = [
    "Roofline",
    "achieved_roofline",
    "compare_devices",
    "compare_models",
    "compare_modules",
    "diff_profiles",
    "explain_regression",
    "judge_substitution",
    "rank_hotspots",
    "size_opportunity",
]

# Some of these load torch.
__getattr__ = lazy_attributes(
    __name__,
    {
        "Roofline": "profiles.analyses.roofline",
        "achieved_roofline": "profiles.analyses.roofline",
        "compare_devices": "profiles.analyses.bring_up",
        "compare_models": "profiles.analyses.numeric",
        "compare_modules": "profiles.analyses.numeric",
        "diff_profiles": "profiles.analyses.diff",
        "explain_regression": "profiles.analyses.regression",
        "judge_substitution": "profiles.analyses.substitution",
        "rank_hotspots": "profiles.analyses.hotspots",
        "size_opportunity": "profiles.analyses.opportunity",
    },
)
