"""Which module of one profile is which of another's: by path, then by class and shapes."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from profiles.model_profile import SELF_KIND
from profiles.records import ComponentProfile

__all__ = ["Match", "MatchedBy", "match_modules"]

MatchedBy = Literal["path", "class and shapes", "place"]
Key = Callable[[ComponentProfile], Hashable]


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """A module in two profiles; where one side is None it stands in the other only.

    `by` tells how they were matched: at the same path with the same class, as the same class with the same settings
    and input shapes elsewhere, or at the same path with another class (a replaced module).
    """

    before: ComponentProfile | None
    after: ComponentProfile | None
    by: MatchedBy | None = None

    @property
    def path(self) -> str:
        """Where the module stands now, or where it stood."""
        row = self.after or self.before
        return row.path if row else ""

    @property
    def phase(self) -> str:
        """The pass that both rows are of."""
        row = self.after or self.before
        return row.phase if row else ""

    @property
    def is_changed(self) -> bool:
        """Whether class, settings or input shapes differ, or one side is missing."""
        if self.before is None or self.after is None:
            return True
        return (self.before.class_name, self.before.spec) != (self.after.class_name, self.after.spec)


def match_modules(before: Sequence[ComponentProfile], after: Sequence[ComponentProfile]) -> tuple[Match, ...]:
    """Every module of both profiles once, in the order of `after`, then those that only `before` has.

    Rows of one phase match only each other; `(self)` rows are left out. Of several alike modules the first matches the
    first, so that a layer put into a sequence is the one that is new, though all behind it have other paths.
    """
    old = [row for row in before if row.kind != SELF_KIND]
    new = [row for row in after if row.kind != SELF_KIND]
    matches: dict[int, Match] = {}
    for by, key in _PASSES:
        waiting: dict[Hashable, list[ComponentProfile]] = defaultdict(list)
        for row in old:
            waiting[row.phase, key(row)].append(row)
        for index, row in enumerate(new):
            if index not in matches and (found := waiting[row.phase, key(row)]):
                matches[index] = Match(before=found.pop(0), after=row, by=by)
        taken = {id(match.before) for match in matches.values()}
        old = [row for row in old if id(row) not in taken]
    added = (matches.get(index) or Match(before=None, after=row) for index, row in enumerate(new))
    return (*added, *(Match(before=row, after=None) for row in old))


_PASSES: tuple[tuple[MatchedBy, Key], ...] = (
    ("path", lambda row: (row.path, row.class_name)),
    ("class and shapes", lambda row: (row.class_name, row.spec)),
    ("place", lambda row: row.path),
)
