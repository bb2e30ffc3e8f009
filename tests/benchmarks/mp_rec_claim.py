"""A published number of MP-Rec beside ours, and whether both say the same of which is more."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Claim", "Unit", "change", "holds", "ratio", "stated"]

Unit = Literal["x", "%", "points", ""]
# Changes below this say that nothing changes, as the paper's 0 does.
_NOTHING = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """`same_sign` is None where the paper gives no number, or ours is an input."""

    claim: str
    paper: float | str
    ours: float | str
    same_sign: bool | None
    unit: Unit = ""
    note: str = ""

    def to_object(self) -> dict[str, Any]:
        """The JSON object."""
        return asdict(self)


def ratio(claim: str, paper: float, ours: float, note: str = "") -> Claim:
    """A factor: the same sign where both lie on the same side of 1."""
    return Claim(
        claim=claim, paper=paper, ours=ours, same_sign=_side(paper - 1) == _side(ours - 1), unit="x", note=note
    )


def change(claim: str, paper: float, ours: float, note: str = "", *, unit: Unit = "%") -> Claim:
    """A change as a fraction (or in points): the same sign where both rise, fall, or hardly move."""
    nothing = _NOTHING if paper == 0 else 0.0
    same = _side(paper, nothing) == _side(ours, nothing)
    return Claim(claim=claim, paper=paper, ours=ours, same_sign=same, unit=unit, note=note)


def holds(claim: str, ours: bool, note: str = "") -> Claim:
    """What the paper says of an order or of all of a range."""
    return Claim(claim=claim, paper="holds", ours="holds" if ours else "does not hold", same_sign=bool(ours), note=note)


def stated(claim: str, paper: float | str, ours: float | str, note: str = "", *, unit: Unit = "") -> Claim:
    """Nothing to compare: an input, or a number that the paper does not give."""
    return Claim(claim=claim, paper=paper, ours=ours, same_sign=None, unit=unit, note=note)


def _side(difference: float, nothing: float = 0.0) -> int:
    return 0 if abs(difference) <= nothing else int(math.copysign(1, difference))
