import io
import sys
import time

import pytest

from planner.progress import LineProgress, Progress, QuietProgress, TerminalProgress, progress_for


def test_lines_tell_the_beginning_and_the_end() -> None:
    out = io.StringIO()
    with LineProgress(out).stage("sweep", 3) as stage:
        stage.update(1)
    first, last = out.getvalue().splitlines()
    assert first == "sweep ..."
    assert last.startswith("sweep: done in ")


def test_a_line_between_comes_only_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    with LineProgress(out).stage("search") as stage:
        later = time.monotonic() + 60
        monkeypatch.setattr(time, "monotonic", lambda: later)
        stage.update(2, total=8, note="best 0.61")
        stage.update(3)
    assert out.getvalue().splitlines()[1] == "search: 2/8, best 0.61"
    assert len(out.getvalue().splitlines()) == 3


def test_the_end_is_not_told_of_a_step_that_failed() -> None:
    out = io.StringIO()
    with pytest.raises(KeyError), LineProgress(out).stage("sweep"):
        raise KeyError
    assert out.getvalue() == "sweep ...\n"


@pytest.mark.parametrize("progress", [QuietProgress(), TerminalProgress()])
def test_names_are_no_markup_and_any_order_of_calls_is_fine(
    progress: Progress, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.stage("a [red]study[/red]", 2) as stage:
        stage.update(1, note="[bold]note")
        stage.update(2, total=2)
    progress.say("see [file]")
    assert capsys.readouterr().out == ""


def test_a_step_without_a_total_shows_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    err = io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    progress = TerminalProgress()
    with progress.stage("fitting") as stage:
        stage.update(0)
    assert "0/?" not in err.getvalue()
    with progress.stage("search", 3):
        pass
    assert "0/3" in err.getvalue()


def test_a_pipe_gets_lines() -> None:
    assert isinstance(progress_for(io.StringIO()), LineProgress)
    assert isinstance(progress_for(), LineProgress | TerminalProgress)
