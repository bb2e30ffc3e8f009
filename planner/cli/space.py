"""A study's search space on the terminal."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from planner.cli.output import print_json, print_lines, print_table

if TYPE_CHECKING:
    from planner.search.search_space import SearchSpace

__all__ = ["show_space"]


def show_space(space: "SearchSpace", *, json: bool) -> None:
    """Every choice with what is offered, where it matters and why its default is so; then the size of it all."""
    from planner.search.space_table import merged_groups, offered_choices, size_text

    choices = offered_choices(space)
    if json:
        print_json(
            {
                "candidates": space.size,
                "choices": [{**asdict(choice), "is_default": choice.is_default} for choice in choices],
            }
        )
        return
    rows = [
        (
            choice.group,
            choice.name,
            ", ".join(map(str, choice.offered)),
            "as offered" if choice.is_default else ", ".join(map(str, choice.default)) or "the study's",
            choice.only_for,
            choice.reason,
        )
        for choice in merged_groups(choices)
    ]
    columns = ("group", "choice", "offered", "default", "only for", "why the default is so")
    print_table("search space", columns, rows, text_columns=len(columns), folding=(0, 2, 3, 4, 5))
    print_lines([size_text(space)])
