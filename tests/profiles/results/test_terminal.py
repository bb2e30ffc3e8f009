import pytest

from profiles.model_profile import ModelProfile
from profiles.results import profile_lines
from tests.profiles.results.sample import EVIL, sample_profile
from tests.profiles.rows import latency, row


def deep_profile(blocks: int) -> ModelProfile:
    rows = [row(path="", class_name="Net", in_situ=latency(float(blocks)))]
    for index in range(blocks):
        rows += [
            row(path=f"block{index}", depth=1, class_name="Block", in_situ=latency(1.0 + index / 1000)),
            row(path=f"block{index}.a", depth=2, in_situ=latency(0.6)),
            row(path=f"block{index}.b", depth=2, in_situ=latency(0.3)),
        ]
    return ModelProfile(rows=tuple(rows), profile_seconds=1.0)


def test_modules_hang_below_what_holds_them() -> None:
    names = [line[:33].strip() for line in profile_lines(sample_profile())]
    assert names[1:8] == ["net", "├─ (self)", "├─ a", "├─ list Σ", "│  ├─ 0 ≈", "│  └─ 1", f"└─ {EVIL} ×"]


def test_a_bar_and_a_percentage_tell_the_share_of_the_time() -> None:
    lines = profile_lines(sample_profile())
    assert "████████████ 100.0%" in lines[1]
    assert "██████        50.0%" in lines[3]


def test_remarks_stand_below_once_each() -> None:
    lines = profile_lines(sample_profile(), width=120)
    assert lines[4].endswith("[2]")
    assert lines[-3:] == [
        "[2] aggregated: never called; summed from its children",
        "[3] estimated: from a table",
        "[4] skipped: never called",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_no_line_of_the_tree_is_wider_than_the_terminal(width: int) -> None:
    lines = [line for line in profile_lines(sample_profile(), width=width) if not line.startswith("[")]
    assert max(map(len, lines)) <= width


def test_a_wide_terminal_shows_classes_and_every_figure() -> None:
    head, model, *_ = profile_lines(sample_profile(), width=140)
    assert head.split() == ["class", "in", "situ", "alone", "FLOPs", "MFU", "params", "cold", "TFLOP/s", "GB/s"]
    assert model.split()[-7:] == ["30.0%", "4", "kB", "12", "ms", "1", "33.3"]


def test_a_narrower_terminal_spares_cold_times_and_rates_first() -> None:
    (head, *_) = profile_lines(sample_profile(), width=110)
    assert head.split()[:6] == ["class", "in", "situ", "alone", "FLOPs", "MFU"]
    assert "GB/s" not in head


def test_a_long_name_is_cut_but_not_its_mark() -> None:
    rows = (row(in_situ=latency(1.0)), row(path="a" * 60, depth=1, provenance="skipped", reason="never called"))
    lines = profile_lines(ModelProfile(rows=rows, profile_seconds=1.0), width=120)
    assert lines[2].startswith("└─ aaa")
    assert lines[2][:44].endswith("a… ×")


def test_modules_left_out_as_too_small_share_one_remark() -> None:
    reason = "not run alone: takes {}% of the model's time, less than 5.00%"
    small = [row(path=f"m{i}", depth=1, provenance="skipped", reason=reason.format(f"{i}.00")) for i in range(3)]
    lines = profile_lines(ModelProfile(rows=(row(in_situ=latency(1.0)), *small), profile_seconds=1.0))
    assert [line.split()[2] for line in lines[2:5]] == ["○", "○", "○"]
    assert lines[5:] == ["[1] left out: not run alone: takes less than 5.00% of the model's time"]


def test_of_many_modules_the_slowest_are_shown_and_the_rest_is_counted() -> None:
    lines = profile_lines(deep_profile(50), most=10)
    assert [line.split()[1] for line in lines if line.startswith("├─")] == [f"block{index}" for index in range(41, 50)]
    assert lines[-1].split()[:4] == ["└─", "...", "41", "more"]
    assert "41.8 ms" in lines[-1]


def test_one_module_is_never_replaced_by_a_line_that_counts_it() -> None:
    assert not any("... 1 more" in line for line in profile_lines(deep_profile(4), most=12))


def test_a_thousand_modules_take_as_many_lines_as_asked_for() -> None:
    assert len(profile_lines(deep_profile(400), most=60)) < 130


def test_a_phase_without_rows_says_so() -> None:
    assert profile_lines(sample_profile(), phase="backward") == ["no backward rows"]


def test_the_heading_of_short_class_names_is_whole() -> None:
    (heading, *_) = profile_lines(ModelProfile(rows=(row(class_name="Net", warm=latency(1.0)),), profile_seconds=1.0))
    assert " class " in heading
