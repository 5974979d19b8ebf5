"""Take the pictures of the home page and of guides again: `make gallery` (needs Chromium).

A page that no command makes keeps its old picture. Names take some only: `python docs/site/make_gallery.py report map`.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from gallery import FOLDER, PICTURES, Picture

LARGEST = 150_000
"""Bytes of one picture; a larger one is taken again at a smaller scale."""
SCALES = (1.0, 0.85, 0.7, 0.6, 0.5)
WIDTH, HEIGHT = 1100, 760


def run(command: str, folder: Path) -> str:
    """Run one command of ours; what it complains about, if it fails."""
    start = [sys.executable, "-c", "from understudy.cli.start import main; main()"]
    done = subprocess.run([*start, *shlex.split(command)], cwd=folder, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"`understudy {command}` ended with {done.returncode}: {done.stderr[-400:]}"


def photograph(browser, page: Path, picture: Picture) -> None:
    """The first screen of a page, in a file of at most `LARGEST` bytes."""
    for scale in SCALES:
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=scale)
        tab = context.new_page()
        tab.goto(page.as_uri() + picture.link)
        tab.wait_for_timeout(1500)  # pages with a map draw it after they are loaded
        image = tab.screenshot()
        context.close()
        if len(image) <= LARGEST:
            break
    picture.file.write_bytes(image)


def take(pictures: list[Picture], folder: Path) -> list[str]:
    """Make every page and photograph those that are wanted; returns what went wrong."""
    from playwright.sync_api import sync_playwright

    faults = [run("example -o example", folder)]
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for picture in PICTURES:
            if picture not in pictures and picture.name != "release":  # others read the release
                continue
            faults += [run(command, folder) for command in picture.commands]
            page = folder / picture.page
            if picture in pictures and page.exists():
                photograph(browser, page, picture)
                sys.stdout.write(f"{picture.file.name}: {picture.file.stat().st_size // 1000} KB\n")
            elif picture in pictures:
                faults.append(f"{picture.name}: no command made {picture.page}")
        browser.close()
    return [fault for fault in faults if fault]


if __name__ == "__main__":
    names = sys.argv[1:] or [picture.name for picture in PICTURES]
    os.environ.setdefault("NO_COLOR", "1")
    with tempfile.TemporaryDirectory() as folder:
        found = take([picture for picture in PICTURES if picture.name in names], Path(folder))
    sys.exit("\n".join(found) if found else 0)
