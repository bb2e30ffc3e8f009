"""How far a figure can be trusted, in three grades: measured, predicted from measurements, estimated without any."""

from collections.abc import Iterable, Mapping
from typing import Literal

from profiles.errors import UnknownNameError

__all__ = ["GRADES", "MEANING", "Provenance", "grade", "weakest"]

Provenance = Literal["measured", "predicted", "estimated"]
# From the strongest to the weakest.
GRADES: tuple[Provenance, ...] = ("measured", "predicted", "estimated")
MEANING: Mapping[Provenance, str] = {
    "measured": "Timed, counted or trained on the machine named below; nothing was filled in.",
    "predicted": "Computed by the cost model, or simulated, from what was measured on that same device.",
    "estimated": "Not measured on that device at all: from published figures of its hardware, or given by hand.",
}
# What other records call the same thing.
_SYNONYMS: Mapping[str, Provenance] = {"aggregated": "measured", "given": "estimated"}


def grade(name: str) -> Provenance:
    """The grade of a record's provenance: a sum of measured parts is measured, a figure given by hand is not.

    Raises:
        UnknownNameError: no such provenance.
    """
    if name in GRADES:
        return name
    if name not in _SYNONYMS:
        raise UnknownNameError("provenance", name, (*GRADES, *_SYNONYMS))
    return _SYNONYMS[name]


def weakest(names: Iterable[str]) -> Provenance:
    """The grade of a figure that rests on all of these: that of its weakest part (measured, where there is none)."""
    return max((grade(name) for name in names), key=GRADES.index, default="measured")
