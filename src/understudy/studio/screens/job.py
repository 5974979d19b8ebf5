"""The screen of a job: how far it is, how to stop it, and how it ended. The account says what it cost."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from understudy.studio import jobs
from understudy.studio.frame import Audience, Equivalent, dataset_of, environment, fragment, go, page, root_of, say
from understudy.studio.jobs import Job, JobState
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset, NoSuchDatasetError

router = APIRouter()
_OFTEN = 0.5
_LONGEST = 45.0
"""Seconds of one stream of events: the server cuts off whatever takes a minute, and a browser calls that an error."""
STEP_OF = {"synthesize": "release", "evaluate": "report", "candidates": "", "anonymize": ""} | dict.fromkeys(
    ("verify", "sign", "pack"), "publish"
)
"""The step of the path that a kind of work belongs to."""


def job_of(request: Request, own: Dataset, nonce: str) -> Job:
    """The job that an address names, if it is, or may be, about this data set."""
    job = jobs.find(root_of(request).folder, nonce)
    if job is None or (job.is_readable and job.request.get("about") != own.name):
        raise NoSuchDatasetError(texts("job")["no_job"])
    return job


@router.get("/d/{dataset}/job/{nonce}")
def show(request: Request, dataset: str, nonce: str) -> Response:
    """The whole screen."""
    own = dataset_of(request, dataset)
    job = job_of(request, own, nonce)
    same = Equivalent(commands=job.request.get("commands", ()), python=job.request.get("python", ()))
    title = texts("job")["titles"].get(job.kind, texts("job")["title"])
    values = {"step": STEP_OF.get(job.kind, ""), **_values(own, job)}
    # a refusal may count rows of the data
    audience = Audience.CONFIDENTIAL if job.result.get("sentence") else Audience.DECISION
    return page(request, "job", audience=audience, equivalent=same, dataset=own, title=title, **values)


@router.get("/d/{dataset}/job/{nonce}/part")
def part(request: Request, dataset: str, nonce: str) -> Response:
    """What is in the middle of the screen, once the work has ended."""
    own = dataset_of(request, dataset)
    return fragment(request, "job_part.html", "job", dataset=own, **_values(own, job_of(request, own, nonce)))


@router.get("/d/{dataset}/job/{nonce}/events")
async def events(request: Request, dataset: str, nonce: str) -> Response:
    """Progress, as the work reports it, until it ends."""
    job = await run_in_threadpool(lambda: job_of(request, dataset_of(request, dataset), nonce))
    return StreamingResponse(_told(request, job), media_type="text/event-stream")


async def _told(request: Request, job: Job) -> AsyncIterator[str]:
    """What is new, until the work ends; long work is told by one stream after the other, each ended in good time."""
    before, until = "", time.monotonic() + _LONGEST
    while not await request.is_disconnected():
        running, text = await run_in_threadpool(_progress, job)
        if text != before:
            yield "event: progress\n" + "".join(f"data: {line}\n" for line in text.splitlines()) + "\n"
            before = text
        if not running or time.monotonic() > until:
            yield "event: end\ndata: end\n\n"
            return
        await asyncio.sleep(_OFTEN)


def _progress(job: Job) -> tuple[bool, str]:
    running = job.state is JobState.RUNNING
    template = environment().get_template("job_progress.html")
    text = template.render(t=texts("job"), steps_done=job.steps(), stopping=job.is_stopping, waited=job.waited)
    return running, text.encode("utf-8", "replace").decode()


@router.post("/d/{dataset}/job/{nonce}/cancel")
def cancel(request: Request, dataset: str, nonce: str) -> Response:
    """Ask it to stop; how it ended is then told by its result and the account."""
    own = dataset_of(request, dataset)
    job_of(request, own, nonce).cancel()
    say(request, texts("job")["asked"])
    return go(f"/d/{own.name}/job/{nonce}")


def _values(own: Dataset, job: Job) -> dict[str, Any]:
    state = job.state
    fact = None if state is JobState.RUNNING else job.charge_fact()
    told = job.result.get("told", {})
    folder = job.arguments.get("out", job.arguments.get("folder", ""))
    return {
        "job": job,
        "state": state.value,
        "fact": None if fact is None else fact.value,
        "told": told,
        "sentence": job.result.get("sentence", ""),
        "steps_done": job.steps(),
        "waited": job.waited,
        "stopping": job.is_stopping,
        "release": str(folder).rpartition("/")[2],
        "is_written": "out" in job.arguments and (own.root.folder / folder).exists(),
        "looked": "account" in job.arguments and job.kind not in jobs.PAYING,
    }
