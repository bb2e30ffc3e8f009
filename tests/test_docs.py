"""What README and docs show is run: Python blocks as they stand, `recplan` commands on a small plan."""

import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

from planner.cli.app import run
from serving_sim.policies import POLICIES

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


# Blocks that say `python slow` are those that compile.
PYTHON = [
    pytest.param(block, id=f"{page.name}-{language.replace(' ', '-')}-{i}", marks=marks)
    for language, marks in (("python", ()), ("python slow", pytest.mark.slow))
    for page in PAGES
    for i, block in enumerate(blocks(page, language))
]
# Each block's commands run in their order, once however many pages show them.
COMMANDS = dict.fromkeys(
    tuple(
        line.split("#")[0].removeprefix(".venv/bin/").strip()
        for line in block.splitlines()
        if line.removeprefix(".venv/bin/").startswith("recplan ")
    )
    for page in PAGES
    for block in blocks(page, "sh")
)


@pytest.fixture(autouse=True)
def _policies(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a block registers is gone after it."""
    monkeypatch.setattr(POLICIES, "_entries", {name: POLICIES.get(name) for name in POLICIES})


@pytest.mark.parametrize("block", PYTHON)
def test_python_blocks_run(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # A compiler looks globals up in the module.
    module = ModuleType("docs_block")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(block, "docs", "exec"), module.__dict__)


@pytest.mark.parametrize("commands", [block for block in COMMANDS if block], ids="; ".join)
def test_commands_run(commands: tuple[str, ...], planned: Path, tmp_path: Path) -> None:
    for command in commands:
        words = [re.sub(r"^out/(quickstart)?", lambda found: f"{planned if found[1] else tmp_path}/", word)
                 for word in shlex.split(command)]  # fmt: skip
        assert run(words[1:]) == 0, command


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_study_page_names_every_key_of_the_quickstart() -> None:
    page = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    keys = set(
        re.findall(r"^(\w+) = ", (ROOT / "docs/examples/quickstart.toml").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert {key for key in keys if f"`{key}" not in page and f"{key}`" not in page} == set()
