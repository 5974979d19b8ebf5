"""Groups that need more than Python: each installs what it may, and is otherwise skipped by name."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import settings

# a machine at load 20 took more than the usual 200 ms for an example; how long things take, benchmarks say
settings.register_profile("unhurried", parent=settings(), deadline=None)
settings.load_profile("unhurried")

_TOOLS = {
    "browser": ("chromium", "chromium"),
    "java": ("java", "default-jre-headless"),
    "mariadb": ("mariadbd", "mariadb-server-core mariadb-client-core"),  # the server alone: no service is started
}


TOOL_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
"""Also where programs for administrators lie."""


def _have(group: str) -> bool:
    command, package = _TOOLS[group]
    if shutil.which(command, path=TOOL_PATH):
        return True
    may_install = os.geteuid() == 0 and shutil.which("apt-get") and os.environ.get("CI")
    if not may_install:
        return False
    for words in (("update", "-qq"), ("install", "-y", "-qq", "--no-install-recommends", *package.split())):
        subprocess.run(
            ["apt-get", *words],
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            capture_output=True,
            timeout=600,
            check=False,
        )
    return shutil.which(command, path=TOOL_PATH) is not None


@pytest.fixture(scope="session")
def chromium(tmp_path_factory, worker_id) -> Path:
    """Path of a browser; one worker installs it while the others wait."""
    from filelock import FileLock

    shared = tmp_path_factory.getbasetemp().parent if worker_id != "master" else tmp_path_factory.getbasetemp()
    with FileLock(shared / "chromium.lock"):
        if not _have("browser"):
            pytest.skip("group browser: no Chromium, and it may not be installed here")
    return Path(shutil.which("chromium") or "")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data, outside the project."""
    place = os.environ.get("UNDERSTUDY_DATA")
    if not place:
        pytest.skip("group data: UNDERSTUDY_DATA is not set")
    return Path(place)


def pytest_configure() -> None:
    """A run in the background of a script ignores Ctrl-C, and so would every program that a test starts and strikes."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_LONG = ("long", "audit", "browser", "outside")
"""Folders whose tests run in `make long`: repetitions, attacks by many runs, a browser, an installed package."""
_LONG_FILES = ("test_documented_commands.py", "test_spark.py", "test_processes.py", "test_part_faults.py")


def pytest_collection_modifyitems(items) -> None:
    """What takes long is told by where it lies, in one place."""
    for item in items:
        of_spark = item.get_closest_marker("java") or "spark" in getattr(getattr(item, "callspec", None), "id", "")
        if item.path.parent.name in _LONG or item.path.name in _LONG_FILES or of_spark:
            item.add_marker(pytest.mark.long)


def pytest_terminal_summary(terminalreporter) -> None:
    """Name the groups that were left out."""
    groups = set()
    for report in terminalreporter.stats.get("skipped", []):
        reason = str(report.longrepr[-1]) if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if "group " in reason:
            groups.add(reason.split("group ", 1)[1])
    for group in sorted(groups):
        terminalreporter.write_line(f"left out: {group}")


os.environ.setdefault("UNDERSTUDY_TRACEBACK", "1")  # an error that nobody foresaw fails a test with its own words
