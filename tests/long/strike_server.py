"""Runs commands that are struck down: one warm process, which forks a child for every command.

Reads one JSON object per line: ``words`` (the command), ``folder``, and how the child is struck: ``signal``, sent to it
``after`` seconds, counted from its beginning or from the ``point`` of its payment (see ``Payment.reached``). Answers
with one JSON object per line: the exit code (negative for a signal), seconds, and what it printed. A child that is
still there after ``PATIENCE`` seconds is ended and said to hang.

Nothing but imports happens in the warm process, so that forking it is safe.
"""

import contextlib
import json
import os
import signal
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

from understudy.cli.app import main
from understudy.privacy.transaction import Payment

PATIENCE = 120.0
WARM = (
    *("dp_accounting.rdp.rdp_privacy_accountant", "duckdb", "ibis.backends.duckdb", "scipy.stats", "sqlalchemy"),
    *("understudy.commute.jobs", "understudy.service.caps", "understudy.synth.counts", "understudy.synth.paid_draft"),
    *("understudy.facade.histories", "understudy.histories.parts", "understudy.synth.linked_counts"),
    *("understudy.synth.ranged", "understudy.synth.released", "understudy.trees.recipe"),
)


def strike_at(point, number, after):
    """Send the signal from another thread, a moment after the payment reached ``point``."""
    me = os.getpid()

    def send():
        time.sleep(after)
        os.kill(me, number)

    def reached(_self, where):
        if where == point:
            threading.Thread(target=send, daemon=True).start()
            time.sleep(after / 2)  # let the blow fall here or a little later

    Payment.reached = reached


def child(job, said):
    os.chdir(job["folder"])
    with Path(said).open("wb") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    if job.get("point"):
        strike_at(job["point"], job["signal"], job["after"])
    code = 70
    try:
        main(job["words"])
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run(job):
    said = Path(job["folder"]) / ".said"
    began = time.monotonic()
    number = os.fork()
    if number == 0:
        child(job, said)
    if job.get("signal") and not job.get("point"):
        time.sleep(job["after"])
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, job["signal"])
    status, hung = None, False
    while status is None:
        done, found = os.waitpid(number, os.WNOHANG)
        if done:
            status = found
        elif time.monotonic() - began > PATIENCE:
            hung = True
            os.kill(number, signal.SIGKILL)
            status = os.waitpid(number, 0)[1]
        else:
            time.sleep(0.005)
    # a child may die before it can open its log
    text = said.read_text(encoding="utf-8", errors="replace") if said.exists() else ""
    return {
        "code": os.waitstatus_to_exitcode(status),
        "seconds": time.monotonic() - began,
        "said": text,
        "hung": hung,
    }


if __name__ == "__main__":
    for module in WARM:
        import_module(module)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(run(json.loads(line))) + "\n")
        sys.stdout.flush()
