"""Run inside the sandbox of test_sandbox.py: the server as its container starts it, and the health check beside it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 240  # seconds; the kernels are compiled first


def may_write(folder: str) -> bool:
    try:
        with Path(folder, "probe").open("wb"):
            pass
    except OSError:
        return False
    Path(folder, "probe").unlink()
    return True


def health(command: list[str]) -> int:
    return subprocess.run(command, capture_output=True, timeout=30, check=False).returncode


def main() -> None:
    """Words of the server and of the health check, and folders to try, as JSON."""
    asked = json.loads(sys.argv[1])
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    told: dict[str, object] = {
        "user": os.getuid(),
        "capabilities": status["CapEff"],
        "new_privileges": status["NoNewPrivs"],
        "writable": [folder for folder in asked["folders"] if may_write(folder)],
        "healthy_before": health(asked["health"]),
    }
    server = subprocess.Popen(asked["server"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    end = time.monotonic() + PATIENCE
    while (healthy := health(asked["health"])) and server.poll() is None and time.monotonic() < end:
        time.sleep(0.5)
    told["healthy"] = healthy
    told["cached"] = sum(1 for path in Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nb*") if path.is_file())
    server.send_signal(signal.SIGTERM)
    told["said"], _ = server.communicate(timeout=30)
    told["ended"] = server.returncode
    told["healthy_after"] = health(asked["health"])
    print(json.dumps(told))  # noqa: T201 - read by the test


if __name__ == "__main__":
    main()
