"""Starts a server, passes its streams on, and keeps a copy of every byte: FOLDER COMMAND ..."""

import os
import subprocess
import sys
import threading
from pathlib import Path


def copied(source, target, kept) -> None:
    with kept.open("wb", buffering=0) as copy:
        while block := os.read(source.fileno(), 1 << 16):
            copy.write(block)
            os.write(target, block)


if __name__ == "__main__":
    folder, command = Path(sys.argv[1]), sys.argv[2:]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    streams = ((server.stdout, 1, "out"), (server.stderr, 2, "err"))
    threads = [
        threading.Thread(target=copied, args=(source, target, folder / f"{server.pid}.{name}"))
        for source, target, name in streams
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.exit(server.wait())
