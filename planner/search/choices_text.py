"""A candidate's choices in words, group by group."""

from planner.search.factors import Choices

__all__ = ["choices_text"]

# What leaves a table as it usually is.
_USUAL = {"kept_rows": 1.0, "dtype": "float32"}


def choices_text(choices: Choices) -> str:
    """`large: dhe (dhe_k 16, dhe_width 32); small: table; dim 8`; what is as usual is left out."""
    groups: dict[str, list[str]] = {}
    whole = []
    for name, choice in choices.items():
        group, _, axis = name.rpartition(".")
        if not group:
            whole.append(f"{name} {choice}")
        elif axis == "representation":
            groups[group] = [str(choice)]
        elif _USUAL.get(axis) != choice:
            groups.setdefault(group, []).append(f"{axis} {choice}")
    told = [_of_group(group, *parts) for group, parts in groups.items()]
    return "; ".join((*told, *whole))


def _of_group(group: str, kind: str, *others: str) -> str:
    return f"{group}: {kind} ({', '.join(others)})" if others else f"{group}: {kind}"
