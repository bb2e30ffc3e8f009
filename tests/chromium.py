"""Pages in a real browser: headless Chromium, where it is installed."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, Dialog, Page, sync_playwright

__all__ = ["CHROMIUM", "WAIT_MS", "Opened", "open_page", "started_browser"]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WAIT_MS = 60_000
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@dataclass
class Opened:
    """A page that was drawn, and what happened meanwhile."""

    page: Page
    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def refuse(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


@contextmanager
def started_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        yield browser
        browser.close()


def open_page(browser: Browser, file: Path, width: int = 1280) -> Opened:
    """The file, once all its charts are drawn."""
    opened = Opened(browser.new_page(viewport={"width": width, "height": 900}))
    opened.page.on("request", lambda request: opened.requests.append(request.url))
    opened.page.on("console", lambda message: opened.messages.append(message.text))
    opened.page.on("pageerror", lambda error: opened.messages.append(str(error)))
    opened.page.on("dialog", opened.refuse)
    opened.page.goto(file.as_uri())
    opened.page.wait_for_selector("body[data-drawn]", timeout=WAIT_MS, state="attached")
    return opened
