"""Which modules are run alone."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from profiles.errors import InputError
from profiles.model_profile import LEFT_OUT
from profiles.profile_options import ProfileOptions
from profiles.walk.tree import ModuleNode

__all__ = ["NO_MODULE", "check_filters", "why_left_out"]

# A path to include that no module has, for those who want none run alone.
NO_MODULE = "[no module]"

_SHOWN_LETTERS = 200


def check_filters(nodes: Sequence[ModuleNode], options: ProfileOptions) -> None:
    """Refuse a filter that no module passes.

    Raises:
        InputError: names the filter, and some of what there is.
    """
    for key, patterns, names in (
        ("include", options.include, [node.path for node in nodes]),
        ("class", options.classes, [node.class_name for node in nodes]),
    ):
        for pattern in patterns:
            if pattern != NO_MODULE and not any(fnmatchcase(name, pattern) for name in names):
                known = ", ".join(dict.fromkeys(name for name in names if name))
                shown = known if len(known) <= _SHOWN_LETTERS else f"{known[:_SHOWN_LETTERS]}..."
                raise InputError(f"profile: {key} {pattern!r} matches no module; there are: {shown or 'none below'}")


def why_left_out(node: ModuleNode, options: ProfileOptions, share: float | None) -> str:
    """The reason for not running it alone; empty for one that is run. `share` is its part of the model's time."""
    name = node.class_name
    if options.include and not any(fnmatchcase(node.path, pattern) for pattern in options.include):
        return f"{LEFT_OUT}: its path matches none of {', '.join(map(repr, options.include))}"
    if options.classes and not any(fnmatchcase(name, pattern) for pattern in options.classes):
        return f"{LEFT_OUT}: its class matches none of {', '.join(map(repr, options.classes))}"
    if share is not None and share < options.min_share:
        return f"{LEFT_OUT}: takes {share:.2%} of the model's time, less than {options.min_share:.2%}"
    return ""
