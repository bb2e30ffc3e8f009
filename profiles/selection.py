"""Which modules are run alone."""

from fnmatch import fnmatchcase

from profiles.profile_options import ProfileOptions
from profiles.tree import ModuleNode

__all__ = ["why_left_out"]


def why_left_out(node: ModuleNode, options: ProfileOptions, share: float | None) -> str:
    """The reason for not running it alone; empty for one that is run. `share` is its part of the model's time."""
    name = node.class_name
    if options.include and not any(fnmatchcase(node.path, pattern) for pattern in options.include):
        return f"not run alone: its path matches none of {', '.join(map(repr, options.include))}"
    if options.classes and not any(fnmatchcase(name, pattern) for pattern in options.classes):
        return f"not run alone: its class matches none of {', '.join(map(repr, options.classes))}"
    if share is not None and share < options.min_share:
        return f"not run alone: takes {share:.2%} of the model's time, less than {options.min_share:.2%}"
    return ""
