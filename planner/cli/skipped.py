"""What a sweep could not measure, for the terminal."""

from collections import Counter
from collections.abc import Iterable, Iterator

__all__ = ["skipped_lines"]

_REASONS_SHOWN = 3


def skipped_lines(skipped: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The most frequent reasons of (component, reason) pairs, each with how many components it holds for."""
    reasons = Counter(reason for _, reason in skipped)
    return (f"skipped ({count}): {reason}" for reason, count in reasons.most_common(_REASONS_SHOWN))
