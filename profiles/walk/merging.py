"""A profile from its parts, wherever these were measured."""

from collections.abc import Mapping, Sequence

from profiles.errors import InputError
from profiles.model_profile import ModelProfile
from profiles.walk.module_part import ModulePart, ProfilePart
from profiles.walk.profile_rows import assemble, notes_on

__all__ = ["merge_parts"]

_ADDED_UP = frozenset({"capture_seconds", "profile_seconds", "forwards"})


def merge_parts(parts: Sequence[ProfilePart]) -> ModelProfile:
    """The profile of all modules of which these are the parts; of one that was measured twice the first part counts.

    Raises:
        InputError: there is no part, or none holds the parent of a module that is there.
    """
    if not parts:
        raise InputError("profile parts: must be at least one, but got none")
    modules: dict[tuple[int, str], ModulePart] = {}
    for part in parts:
        for module in part.modules:
            modules.setdefault((module.index, module.row.phase), module)
    in_order = sorted(modules.values(), key=lambda module: (module.index, module.row.phase != "forward"))
    _require_parents(in_order)
    figures = tuple(dict.fromkeys(figure for part in parts for figure in part.figures))
    rows = assemble(in_order, figures)
    return ModelProfile(
        name=parts[0].name,
        rows=rows,
        profile_seconds=sum(part.profile_seconds for part in parts),
        calls=tuple(call for module in in_order for call in module.calls),
        kernels=tuple(kernel for module in in_order if not module.row.path for kernel in module.kernels),
        figures=figures,
        costs=_costs(parts),
        notes=tuple(dict.fromkeys((*(note for part in parts for note in part.notes), *notes_on(rows)))),
    )


def _costs(parts: Sequence[ProfilePart]) -> Mapping[str, float]:
    """What was spent, added up; what was seen of the model, as the first part saw it."""
    costs = dict(parts[0].costs)
    for name in _ADDED_UP & costs.keys():
        costs[name] = sum(part.costs.get(name, 0.0) for part in parts)
    return costs


def _require_parents(modules: Sequence[ModulePart]) -> None:
    known = {module.index for module in modules}
    for module in modules:
        if module.parent is not None and module.parent not in known:
            raise InputError(f"profile parts: must hold the parent of {module.row.path!r}, but it is in none")
