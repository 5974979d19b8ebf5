"""Jobs of the studio: one for each form, found again, ended truthfully."""

import fcntl
import json
import os
import re
import secrets
import signal
import stat
import threading
import time
from pathlib import Path

import pytest

from understudy.errors import ParameterError
from understudy.facade import demo, releases
from understudy.privacy.transaction import Payment
from understudy.studio import jobs
from understudy.studio.jobs import ChargeFact, JobState
from understudy.studio.kept import keep


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    place = tmp_path_factory.mktemp("jobs")
    demo.example_patients(place / "example", rows=300)
    return place


@pytest.fixture
def account(root):
    name = f"{secrets.token_hex(4)}.account"
    releases.create_account(root / name, dataset="example", epsilon=5, delta=1e-5, neighbours="add-remove")
    return name


def asked(account, **more):
    return {
        "data": "example/patients.csv",
        "book": "example/patients.toml",
        "rows": 50,
        "out": f"release-{secrets.token_hex(4)}",
        "account": account,
        "epsilon": 0.5,
        "delta": 1e-6,
        **more,
    }


def start(root, arguments, nonce=None):
    nonce = secrets.token_hex(16) if nonce is None else nonce
    return jobs.start(root, nonce, kind="synthesize", arguments=arguments, about="example", by="A. Steward")


def ended(job, state):
    deadline = time.monotonic() + 120
    while job.state is JobState.RUNNING and time.monotonic() < deadline:
        time.sleep(0.05)
    assert job.state is state, job.result
    return job.result


def counted(root, account):
    return [charge for charge in releases.open_account(root / account).history() if charge.state.value != "cancelled"]


def test_a_form_that_is_sent_by_two_tabs_starts_and_pays_once(root, account):
    nonce, arguments = secrets.token_hex(16), asked(account)
    begun = []
    tabs = [threading.Thread(target=lambda: begun.append(start(root, arguments, nonce))) for _ in range(4)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert sorted(new for _, new in begun) == [False, False, False, True]
    job = begun[0][0]
    told = ended(job, JobState.DONE)["told"]
    assert told["valid"] and told["passed"] and not told["problems"]
    assert job.charge_fact() is ChargeFact.COMMITTED
    assert len(counted(root, account)) == 1
    assert jobs.find(root, nonce) == job  # another studio finds it
    assert job in jobs.all_jobs(root, about="example") and job not in jobs.all_jobs(root, about="another")
    assert [step.share for step in job.steps()] and all(0 <= step.share <= 1 for step in job.steps())
    for path in job.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
    assert stat.S_IMODE(job.folder.stat().st_mode) == 0o700
    assert not [path for path in job.folder.parent.iterdir() if path.name.startswith(".half")]


def test_a_refusal_says_why_and_nothing_is_charged(root, account):
    job, _ = start(root, asked(account, epsilon=50.0))
    assert "above its cap" in ended(job, JobState.REFUSED)["sentence"]
    assert job.charge_fact() is ChargeFact.NOTHING
    assert not (root / job.arguments["out"]).exists()


def test_a_job_that_is_cancelled_before_it_begins_costs_nothing(root, account):
    job, _ = start(root, asked(account))
    job.cancel()
    assert job.is_stopping
    ended(job, JobState.CANCELLED)
    assert job.charge_fact() in (ChargeFact.NOTHING, ChargeFact.GIVEN_BACK)
    assert counted(root, account) == []


@pytest.mark.parametrize(
    ("struck", "state", "fact"),
    [
        (signal.SIGINT, JobState.CANCELLED, ChargeFact.GIVEN_BACK),
        (signal.SIGKILL, JobState.KILLED, ChargeFact.HELD),
    ],
)
def test_the_account_says_what_a_stopped_job_cost(root, account, tmp_path, struck, state, fact, monkeypatch):
    """The worker waits just after its charge, by a hook that Python loads at its start, and is struck there."""
    hook = (
        "import sys, time\n"
        "if 'understudy.studio.worker' in ' '.join(sys.orig_argv):\n"
        "    from understudy.privacy.transaction import Payment\n"
        "    def reached(self, point):\n"
        "        if point == 'drawing':\n"
        f"            open({str(tmp_path / 'there')!r}, 'w').close()\n"
        "            time.sleep(60)\n"
        "    Payment.reached = reached\n"
    )
    (tmp_path / "sitecustomize.py").write_text(hook)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    assert hasattr(Payment, "reached")
    job, _ = start(root, asked(account))
    deadline = time.monotonic() + 120
    while not (tmp_path / "there").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert job.state is JobState.RUNNING
    assert job.charge_fact() is ChargeFact.HELD
    if struck is signal.SIGINT:
        job.cancel()
    else:
        os.kill(int((job.folder / jobs.PID).read_text()), struck)
    ended(job, state)
    assert job.charge_fact() is fact
    assert len(counted(root, account)) == (fact is ChargeFact.HELD)
    assert not (root / job.arguments["out"]).exists()


def test_a_killed_job_without_a_note_is_told_by_the_account(root, account):
    job, _ = start(root, asked(account))
    ended(job, JobState.DONE)
    (job.folder / jobs.RESULT).unlink()
    (job.folder / jobs.CHARGE).unlink()
    assert job.state is JobState.KILLED
    assert job.charge_fact() is ChargeFact.UNKNOWN  # a charge was made since, and no other work noted it
    keep(job.folder / jobs.REQUEST, job.request | {"when": "2999-01-01T00:00:00+00:00"})
    assert job.charge_fact() is ChargeFact.NOTHING  # none was made since
    (root / account).unlink()
    assert job.charge_fact() is ChargeFact.UNKNOWN


def test_bugs_are_told_without_the_words_of_the_error(root):
    job, _ = jobs.start(root, secrets.token_hex(16), kind="no such work", arguments={}, about="example", by="A")
    sentence = ended(job, JobState.FAILED)["sentence"]
    assert sentence.startswith("KeyError at worker.py:") and "no such work" not in sentence


@pytest.mark.parametrize("nonce", ["", "../../etc", "A" * 32, "0" * 31, "0" * 33, "0" * 32 + "\n"])
def test_names_that_no_form_has(root, nonce):
    with pytest.raises(ParameterError, match="open the screen again"):
        start(root, {}, nonce)
    assert jobs.find(root, nonce) is None


def test_half_written_files_are_no_news(tmp_path):
    nonce = secrets.token_hex(16)
    folder = tmp_path / jobs.FOLDER / nonce
    folder.mkdir(parents=True)
    (folder / jobs.REQUEST).write_text("[1]")
    (folder / jobs.PROGRESS).write_text(
        json.dumps({"at": 10.0, "step": "counting", "done": 0, "total": 4})
        + "\n"
        + json.dumps({"at": 20.0, "step": "counting", "done": 1, "total": 4})
        + '\n{"at": 3'
    )
    job = jobs.find(Path(tmp_path), nonce)
    (step,) = job.steps()
    assert (step.share, step.seconds_left) == (0.25, 30.0)
    assert job.state is JobState.KILLED and job.charge_fact() is ChargeFact.UNKNOWN and job.arguments == {}


TOLD = (
    ("counting", 0, 4, 10.0),
    ("counting", 4, 4, 12.0),
    ("drawing rows", 100, 400, 20.0),
    ("drawing rows", 200, 400, 120.0),
    ("decoding", 30, 40, 121.0),
)
"""Steps as the work reports them: drawing was not told of before a quarter was done."""


def test_each_stage_says_how_far_it_is_and_what_time_is_left(tmp_path):
    """On the screen while a release is made, and in the stream that moves it."""
    from studio_visitor import Visitor

    from understudy.studio.workspace import Root, new_dataset

    new_dataset(Root.at(tmp_path), "example", data="rows.csv")
    job = folder_of(tmp_path, when=1)
    (job.folder / jobs.RESULT).unlink()
    lines = [json.dumps({"at": at, "step": step, "done": done, "total": total}) for step, done, total, at in TOLD]
    (job.folder / jobs.PROGRESS).write_text("\n".join([*lines, ""]))
    assert [step.seconds_left for step in job.steps()] == [None, 200.0, None], "of 100 rows in 100 seconds"
    visitor, here = Visitor(tmp_path), f"/d/example/job/{job.nonce}"
    with (job.folder / jobs.LOCK).open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shown = visitor.get(here).text
    keep(job.folder / jobs.RESULT, {"state": "done"})
    for text in (shown, visitor.get(f"{here}/events").text):
        stages = re.findall(r"<li><label>([a-z ]+) <progress[^>]*></progress></label> <span[^>]*>(.*?)</span>", text)
        assert stages == [("counting", "done"), ("drawing rows", "50%, about 4 minutes left"), ("decoding", "75%")]


def test_a_release_tells_its_stages_with_the_time_of_each(root, account):
    """What the screen needs comes from the work itself: steps with a beginning, an end and a share between them."""
    job, _ = start(root, asked(account, rows=200_000))
    ended(job, JobState.DONE)
    steps = job.steps()
    assert {"reading", "counting", "drawing rows"} <= {step.name for step in steps}
    assert all(step.began <= step.last and step.share == 1 and step.seconds_left is None for step in steps)
    told = [json.loads(line) for line in (job.folder / jobs.PROGRESS).read_text().splitlines()]
    assert any(0 < line["done"] < line["total"] for line in told)


def folder_of(root, *, when, **request):
    """The folder that finished work leaves behind."""
    job = jobs.Job(root=root, nonce=secrets.token_hex(16))
    job.folder.mkdir(parents=True)
    (job.folder / jobs.LOCK).touch()
    keep(job.folder / jobs.REQUEST, {"kind": "synthesize", "about": "example", "arguments": {}, **request})
    keep(job.folder / jobs.RESULT, {"state": "done"})
    os.utime(job.folder / jobs.REQUEST, (when, when))
    return job


def test_old_work_is_cleaned_up_but_never_what_runs_or_is_open(tmp_path):
    """The newest of each data set stay; so does work that runs, and work whose price is held or cannot be told."""
    import fcntl

    import understudy as us

    releases.create_account(tmp_path / "a.account", dataset="a", epsilon=5, delta=1e-5, neighbours="add-remove")
    book = us.Codebook(columns=(us.codebook.Categorical(name="sex", levels=("F", "M")),))
    price = us.quote(book, 10, epsilon=0.5, delta=1e-6)
    releases.open_account(tmp_path / "a.account").reserve(price.ledger, label="open", delta=1e-6)
    (held,) = releases.open_account(tmp_path / "a.account").history()
    open_one = folder_of(tmp_path, when=1, arguments={"account": "a.account"})
    keep(open_one.folder / jobs.CHARGE, {"number": held.number})
    untold = folder_of(tmp_path, when=2, arguments={"account": "gone.account"})
    running = folder_of(tmp_path, when=3)
    lock = (running.folder / jobs.LOCK).open("rb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    old = [folder_of(tmp_path, when=10 + place) for place in range(4)]
    elsewhere = folder_of(tmp_path, when=1, about="another")
    assert jobs.clean_up(tmp_path, spare=2) == 2
    left = {job.nonce for job in jobs.all_jobs(tmp_path)}
    assert left == {job.nonce for job in (open_one, untold, running, *old[2:], elsewhere)}
    lock.close()
    assert jobs.clean_up(tmp_path, spare=2) == 1, "once it has ended, it is old work like any other"


def test_the_stream_of_events_ends_before_the_server_cuts_it_off(tmp_path, monkeypatch):
    """A browser calls a cut an error; the page asks for the next stream by itself when one has ended."""
    import asyncio
    import fcntl

    from understudy.front.visitors import Limits
    from understudy.studio.screens import job as screen

    assert Limits().request_seconds > screen._LONGEST
    monkeypatch.setattr(screen, "_LONGEST", 0.1)
    monkeypatch.setattr(screen, "_OFTEN", 0.02)
    job = folder_of(tmp_path, when=1)
    (job.folder / jobs.PROGRESS).write_text('{"at": 1.0, "step": "drawing", "done": 1, "total": 2}\n')

    class Asking:
        async def is_disconnected(self):
            return False

    async def told():
        return [part async for part in screen._told(Asking(), job)]

    with (job.folder / jobs.LOCK).open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        parts = asyncio.run(told())
    assert "drawing" in parts[0] and parts[-1] == "event: end\ndata: end\n\n" and len(parts) == 2
