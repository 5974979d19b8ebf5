"""The service as its container runs it, without a container engine: another user, a read-only system, no capabilities,
a network of its own, and the very command of the health check."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from parsed import ROOT, compose, environment, health_command, only


def closed(*further: str) -> list[str]:
    """Bubblewrap's words for what compose.yaml asks for; or the test is left out."""
    tool = shutil.which("bwrap")
    if tool is None:
        pytest.skip("group containers: no bubblewrap here (apt-get install bubblewrap)")
    user, group = only("USER").words.split(":")
    words = [tool, "--unshare-all", "--die-with-parent", "--uid", user, "--gid", group, "--cap-drop", "ALL"]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *further]
    if subprocess.run([*words, "true"], capture_output=True, timeout=30, check=False).returncode:
        pytest.skip("group containers: bubblewrap is here, and this system lets it make no namespaces")
    return words


@pytest.mark.long
def test_the_service_in_a_closed_room(tmp_path: Path):
    state, cache = tmp_path / "state", tmp_path / "cache"
    state.mkdir()
    cache.mkdir()
    binary = str(Path(sys.executable).parent)
    # /tmp may hold this test's own folder: a tmpfs is laid over the temporary folder that the service sees
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    own = {
        **environment(),
        "PATH": f"{binary}:/usr/bin:/bin",
        "HOME": str(state),
        "NUMBA_CACHE_DIR": str(cache),
        "TMPDIR": str(scratch),
    }
    settings = [word for name, value in own.items() for word in ("--setenv", name, value)]
    words = closed("--tmpfs", str(cache), "--tmpfs", str(scratch), "--bind", str(state), str(state), *settings)
    asked = {
        "server": [*only("ENTRYPOINT").listed, *only("CMD").listed],
        "health": health_command(),
        "folders": ["/", str(ROOT), str(tmp_path), str(state), str(cache), str(scratch)],
    }
    inside = [sys.executable, str(Path(__file__).with_name("inside.py")), json.dumps(asked)]
    ran = subprocess.run(
        [*words, "--chdir", str(state), *inside], capture_output=True, text=True, timeout=400, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = json.loads(ran.stdout)
    assert told["user"] == int(compose()["services"]["service"]["user"].split(":")[0])
    assert int(told["capabilities"], 16) == 0 and told["new_privileges"] == "1"
    assert told["writable"] == [str(state), str(cache), str(scratch)], "all the rest of the system is read-only"
    assert told["healthy_before"] != 0, "nothing answers yet"
    assert told["healthy"] == 0, told["said"]
    assert told["cached"] > 0, "compiled kernels are kept in the tmpfs"
    assert told["ended"] == 0 and told["healthy_after"] != 0, told["said"]
