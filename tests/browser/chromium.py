"""A browser without a window: the page as it is after loading, and a picture of it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # no network, whatever the page asks for
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def browser() -> str:
    """The browser, or a skip that says why."""
    given = os.environ.get("MERCER_BROWSER")
    found = given or next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    return found


def visit(page: Path, folder: Path, *flags: str) -> str:
    """Run the browser on a page and return what it prints."""
    profile = folder / "profile"
    command = [browser(), *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def dom(page: Path, folder: Path, width: int = 1200) -> str:
    """The page after loading, as HTML."""
    return visit(
        page, folder, f"--window-size={width},900", "--virtual-time-budget=4000", "--dump-dom"
    )


def screenshot(page: Path, folder: Path, width: int, height: int, *flags: str) -> Path:
    """A picture of the page."""
    place = folder / "screen.png"
    visit(page, folder, f"--screenshot={place}", f"--window-size={width},{height}", *flags)
    return place
