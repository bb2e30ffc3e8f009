"""One published number of the ZionEX paper beside ours."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Row", "Unit", "verdict"]

Unit = Literal["MQPS", "%", "x", "TB", "ms", ""]
_CLOSE = 0.25


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """`ours` with sourced constants, `fitted` with two numbers fitted to model A; None where there is no second one.

    `rests_on` says which assumption the figure rests on, `note` what is unlike, or what cannot be explained.
    `is_fitted` says that something was chosen so that the paper's number comes out.
    """

    section: str
    claim: str
    paper: float | str
    ours: float | str
    fitted: float | str | None = None
    unit: Unit = ""
    rests_on: str
    note: str = ""
    is_fitted: bool = False

    def to_object(self) -> dict[str, Any]:
        """The JSON object, with its verdict."""
        return {**asdict(self), "verdict": verdict(self)}


def verdict(row: Row) -> str:
    """`close` within a quarter, `same direction` on the same side of no change, else `differs`.

    `fitted` where closeness says nothing; empty for what is stated.
    """
    if isinstance(row.paper, str) or isinstance(row.ours, str):
        if row.paper == "holds":
            return "holds" if row.ours == "holds" else "does not hold"
        return ""
    if row.is_fitted:
        return "fitted"
    found = [value for value in (row.ours, row.fitted) if isinstance(value, float | int)]
    if any(abs(value - row.paper) <= _CLOSE * abs(row.paper) for value in found):
        return "close"
    same = any((value > 0) == (row.paper > 0) for value in found)
    return "same direction" if row.unit == "%" and same else "differs"
