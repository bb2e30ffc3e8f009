"""A profile as a tree for the terminal: plain lines, widest shares first in line to be shown."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from profiles.charts.layout import parent_indices
from profiles.charts.marks import LEFT_OUT_MARK, row_mark, row_reason
from profiles.model_profile import ModelProfile
from profiles.records import ComponentProfile
from profiles.units import MS_PER_S, format_bytes, format_count, format_ms

__all__ = ["profile_lines"]

_BLOCKS = " ▏▎▍▌▋▊▉"
_BAR_CELLS = 12
_BAR_WIDTH = _BAR_CELLS + len(" 100.0%")
_GAP = 2
_MOST_NAME = 44
_LEAST_CLASS = 8
_CLASS = "class"
# The last ones give way first where the terminal is narrow; the extra ones even before class names.
_HEADINGS = ("in situ", "alone", "FLOPs", "MFU", "params", "cold", "TFLOP/s", "GB/s")
_EXTRA = frozenset({"cold", "TFLOP/s", "GB/s"})
_NO_FIGURES = ("",) * len(_HEADINGS)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Line:
    """A module's line before it is cut to the terminal's width; `figures` are those of `_HEADINGS`."""

    name: str
    class_name: str
    mark: str = ""
    share: float | None
    figures: tuple[str, ...]
    remark: int | None = None


def profile_lines(profile: ModelProfile, width: int = 100, most: int = 60, phase: str = "forward") -> list[str]:
    """The tree, at most `width` letters wide, and the remarks below it.

    A bar is the share of the model's time in the model. Of more than `most` rows those with the most time are shown,
    with the modules that hold them; a line says what is left out. Σ, ≈ and × mark aggregated, estimated and skipped
    rows, ○ those that a filter left out, a number in brackets the remark on a row. Where the terminal is narrow, cold
    times and rates, then class names and then other figures give way.
    """
    rows = [row for row in profile.rows if row.phase == phase]
    if not rows:
        return [f"no {phase} rows"]
    parents = parent_indices([row.path for row in rows])
    kept = _kept(rows, parents, most)
    remarks = dict.fromkeys(remark for row in rows if (remark := _remark(row)))
    shown = dict.fromkeys(remark for index in sorted(kept) if (remark := _remark(rows[index])))
    numbers = {remark: number for number, remark in enumerate(shown, start=1)}
    lines = _layout(list(_tree(profile, rows, parents, kept, numbers)), width)
    hidden = f"(and {len(remarks) - len(shown)} on rows that are not shown)"
    notes = [f"[{number}] {remark}" for remark, number in numbers.items()]
    return [*lines, *notes, *([hidden] if len(remarks) > len(shown) else [])]


def _kept(rows: Sequence[ComponentProfile], parents: Sequence[int | None], most: int) -> set[int]:
    """The rows with the most time, each with all that hold it, until there are `most`."""
    if len(rows) <= most:
        return set(range(len(rows)))
    kept: set[int] = set()
    for index in sorted(range(len(rows)), key=lambda index: -(_time_ms(rows[index]) or 0.0)):
        line: list[int] = []
        place: int | None = index
        while place is not None and place not in kept:
            line.append(place)
            place = parents[place]
        if len(kept) + len(line) > most:
            break
        kept.update(line)
    for parent, children in _children(parents).items():
        # A line that stands for one row is no shorter than that row.
        if parent in kept and len(left := [child for child in children if child not in kept]) == 1:
            kept.update(left)
    return kept


def _children(parents: Sequence[int | None]) -> Mapping[int, list[int]]:
    children: dict[int, list[int]] = defaultdict(list)
    for index, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(index)
    return children


def _tree(
    profile: ModelProfile,
    rows: Sequence[ComponentProfile],
    parents: Sequence[int | None],
    kept: set[int],
    numbers: Mapping[str, int],
) -> Iterator[_Line]:
    children, whole = _children(parents), _time_ms(rows[0])

    def walk(index: int, indent: str, branch: str) -> Iterator[_Line]:
        row = rows[index]
        name = row.path.rpartition(".")[2] or profile.name or row.class_name
        yield _line(row, indent + branch + name, whole, numbers.get(_remark(row)))
        below = "" if not branch else indent + ("│  " if branch == "├─ " else "   ")
        left = [rows[child] for child in children[index] if child not in kept]
        shown = [child for child in children[index] if child in kept]
        for child in shown:
            yield from walk(child, below, "├─ " if left or child != shown[-1] else "└─ ")
        if left:
            yield _rest(left, below, whole)

    for index, parent in enumerate(parents):
        if parent is None and index in kept:
            yield from walk(index, "", "")


def _line(row: ComponentProfile, name: str, whole: float | None, remark: int | None) -> _Line:
    time_ms = _time_ms(row)
    return _Line(
        name=name,
        mark=row_mark(row),
        class_name=row.class_name if row.kind != "self" else "",
        share=time_ms / whole if time_ms is not None and whole else None,
        figures=(
            format_ms(row.in_situ.median_ms) if row.in_situ else "",
            format_ms(row.warm.median_ms) if row.warm else "",
            format_count(row.flops, "FLOP") if row.flops else "",
            f"{row.mfu:.1%}" if row.mfu is not None else "",
            format_bytes(row.parameter_bytes) if row.parameter_bytes else "",
            format_ms(row.cold.median_ms) if row.cold else "",
            _rate(row.flops, row, 1e12),
            _rate(row.bytes_moved, row, 1e9),
        ),
        remark=remark,
    )


def _rate(amount: float | None, row: ComponentProfile, unit: float) -> str:
    """Achieved alone and warm."""
    alone_ms = row.warm.median_ms if row.warm else 0.0
    return f"{amount * MS_PER_S / alone_ms / unit:.3g}" if amount and alone_ms else ""


def _rest(left: Sequence[ComponentProfile], indent: str, whole: float | None) -> _Line:
    times_ms = [time_ms for row in left if (time_ms := _time_ms(row)) is not None]
    share = sum(times_ms) / whole if times_ms and whole else None
    text = format_ms(sum(times_ms)) if times_ms else ""
    return _Line(name=f"{indent}└─ ... {len(left)} more", class_name="", share=share, figures=(text, *_NO_FIGURES[1:]))


def _layout(lines: Sequence[_Line], width: int) -> list[str]:
    """The lines in columns; columns that nobody fills are left out."""
    names = min(max(len(f"{line.name} {line.mark}".rstrip()) for line in lines), _MOST_NAME)
    sizes, classes = _columns(lines, width - names)
    heads = [_HEADINGS[index].rjust(size) for index, size in sizes.items()]
    table = [_joined(["".ljust(names), _cell(_CLASS, classes), " " * _BAR_WIDTH, *heads], width)]
    for line in lines:
        figures = [line.figures[index].rjust(size) for index, size in sizes.items()]
        remark = f"[{line.remark}]" if line.remark else ""
        cells = [_name_cell(line, names), _cell(line.class_name, classes), _bar(line.share), *figures, remark]
        table.append(_joined(cells, width))
    return table


def _columns(lines: Sequence[_Line], width: int) -> tuple[dict[int, int], int]:
    """The figures' columns with their sizes, and the letters for class names, that fit beside the names."""
    sizes = {
        index: max(len(heading), *(len(line.figures[index]) for line in lines))
        for index, heading in enumerate(_HEADINGS)
        if any(line.figures[index] for line in lines)
    }
    wanted = max(len(_CLASS), *(len(line.class_name) for line in lines))
    remarks = _GAP + len("[99]") if any(line.remark for line in lines) else 0
    while True:
        taken = _GAP + _BAR_WIDTH + sum(_GAP + size for size in sizes.values()) + remarks
        classes = min(width - taken - _GAP, wanted)
        has_classes = classes >= min(wanted, _LEAST_CLASS)
        is_spared = not has_classes and _HEADINGS[max(sizes, default=0)] in _EXTRA
        if (taken <= width and not is_spared) or len(sizes) <= 1:
            return sizes, classes if has_classes else 0
        sizes.popitem()


def _joined(cells: Sequence[str], width: int) -> str:
    return (" " * _GAP).join(cell for cell in cells if cell)[:width].rstrip()


def _name_cell(line: _Line, size: int) -> str:
    """A long name is cut, its mark is not."""
    if not line.mark:
        return _cell(line.name, size)
    room = size - len(line.mark) - 1
    return f"{_cell(line.name, min(room, len(line.name)))} {line.mark}".ljust(size)


def _cell(text: str, size: int) -> str:
    return text.ljust(size) if len(text) <= size else text[: max(size - 1, 0)] + "…" * (size > 0)


def _bar(share: float | None) -> str:
    """Twelve cells in eighths, and the share beside them; more than the whole is said in figures alone."""
    if share is None:
        return " " * _BAR_WIDTH
    eighths = round(min(share, 1.0) * _BAR_CELLS * 8)
    bar = "█" * (eighths // 8) + (_BLOCKS[eighths % 8] if eighths % 8 else "")
    return f"{bar:<{_BAR_CELLS}} {share:6.1%}"


def _time_ms(row: ComponentProfile) -> float | None:
    latency = row.in_situ or row.warm
    return latency.median_ms if latency else None


def _remark(row: ComponentProfile) -> str:
    if row.provenance == "measured":
        return row_reason(row)
    words = "left out" if row_mark(row) == LEFT_OUT_MARK else row.provenance
    return words + (f": {row_reason(row)}" if row.reason else "")
