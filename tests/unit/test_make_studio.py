"""`make studio` opens the studio: its command line is one that the program takes, and leads a browser to the shelf."""

import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import httpx

MAKEFILE = (Path(__file__).parents[2] / "Makefile").read_text(encoding="utf-8")


def recipe(target):
    """The lines of one target with its variables filled in, as a shell would get them."""
    values = dict(re.findall(r"^(\w+) [?:]?= ?(.*)$", MAKEFILE, flags=re.MULTILINE))
    (lines,) = re.findall(rf"^{target}:[^\n]*\n((?:\t[^\n]*\n)+)", MAKEFILE, flags=re.MULTILINE)
    while "$(" in lines:
        lines = re.sub(r"\$\((\w+)\)", lambda found: values[found[1]], lines)
    return [shlex.split(line) for line in lines.splitlines()]


def test_make_studio_opens_a_browser_on_the_shelf(tmp_path):
    """The options of the Makefile, with a program in the browser's place that writes down where it was sent."""
    ((program, *words),) = recipe("studio")
    assert program == ".venv/bin/understudy" and words[0] == "studio" and "--open" in words
    assert re.search(r"^studio: \$\(STAMP\)$", MAKEFILE, flags=re.MULTILINE), "it sets itself up"
    assert "studio" in re.search(r"^\.PHONY: (.*)$", MAKEFILE, flags=re.MULTILINE)[1].split()
    sent, browser = tmp_path / "sent", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {shlex.quote(str(sent))}.part && mv {shlex.quote(str(sent))}.part '
                       f"{shlex.quote(str(sent))}\n")  # fmt: skip
    browser.chmod(0o700)
    process = subprocess.Popen(
        [sys.executable, "-m", "understudy", *words],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "BROWSER": str(browser), "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
    )
    try:
        until = time.monotonic() + 120
        while not sent.exists():
            assert process.poll() is None, process.stderr.read().decode()
            assert time.monotonic() < until, "no browser was opened"
            time.sleep(0.05)
        with httpx.Client(follow_redirects=True, timeout=60) as client:
            shelf = client.get(sent.read_text().strip())
        assert shelf.status_code == 200 and "Try it with an example" in shelf.text
        assert (tmp_path / words[words.index("--root") + 1]).is_dir()
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()
