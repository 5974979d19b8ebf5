"""The image itself, where a builder and its base are: built, started as compose.yaml asks, healthy, stopped.

`UNDERSTUDY_BUILDER` names another program than podman or docker ("podman --root FOLDER"), `UNDERSTUDY_BUILD` and
`UNDERSTUDY_RUN` hold further options for its commands.
"""

import os
import shlex
import shutil
import subprocess
import time

import pytest
from parsed import ROOT, compose, health_command, instructions, only

BASE = next(each.words.split()[0] for each in instructions() if each.name == "FROM")


def builder() -> list[str]:
    """Its words; or the test is left out."""
    named = os.environ.get("UNDERSTUDY_BUILDER")
    candidates = [shlex.split(named)] if named else [[name] for name in ("podman", "docker") if shutil.which(name)]
    for words in candidates:
        asked = [*words, "image", "inspect", BASE]
        if subprocess.run(asked, capture_output=True, timeout=120, check=False).returncode == 0:
            return words
    pytest.skip(f"group containers: no podman or docker here that has the image {BASE}")


def run(*words: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False)


@pytest.mark.long
def test_the_image_is_built_and_answers():
    tool = builder()
    name = f"understudy-test-{os.getpid()}"
    form = ["--format", "docker"] if "podman" in tool[0] else []
    options = shlex.split(os.environ.get("UNDERSTUDY_BUILD", ""))
    file = str(ROOT / "deploy" / "Containerfile")
    built = run(*tool, "build", *form, *options, "-t", name, "-f", file, str(ROOT), timeout=1800)
    assert built.returncode == 0, built.stdout[-3000:] + built.stderr[-3000:]
    told = compose()["services"]["service"]
    closed = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "none"]
    closed += ["--ulimit", "nofile=4096:4096", "--memory", "2g", "--pids-limit", "256"]
    closed += [word for mount in told["tmpfs"] for word in ("--tmpfs", mount)]
    closed += shlex.split(os.environ.get("UNDERSTUDY_RUN", ""))
    try:
        started = run(*tool, "run", "--detach", "--name", name, *closed, name)
        assert started.returncode == 0, started.stderr
        end = time.monotonic() + 240
        while (asked := run(*tool, "exec", name, *health_command())).returncode and time.monotonic() < end:
            time.sleep(1)
        assert asked.returncode == 0, run(*tool, "logs", name).stdout + asked.stderr
        assert run(*tool, "exec", name, "id", "-u").stdout.strip() == only("USER").words.split(":")[0]
        written = run(*tool, "exec", name, "touch", "/opt/understudy/probe")
        assert written.returncode and "Read-only" in written.stderr
        count = "import pathlib; print(sum(1 for _ in pathlib.Path('/var/cache/understudy').rglob('*.nb*')))"
        assert int(run(*tool, "exec", name, "python", "-c", count).stdout) > 0
        stopped = run(*tool, "stop", "--time", "30", name)
        assert stopped.returncode == 0, stopped.stderr
        ended = run(*tool, "inspect", "--format", "{{.State.ExitCode}}", name)
        assert ended.stdout.strip() == "0", run(*tool, "logs", name).stderr
    finally:
        run(*tool, "rm", "--force", name)
        run(*tool, "rmi", "--force", name)
