"""Work on a finished release: checking, signing and packing. Each reads all its rows, so each is a job.

No answer waits for it: screens show how it stands, and find its outcome again until a file of the release changes.
"""

from understudy.studio import jobs, plans
from understudy.studio.jobs import Job, JobState
from understudy.studio.released import Released

HANDING_OUT = ("sign", "pack")
KEY = "publisher.key"
"""In the root folder: one publisher signs for all its data sets."""


def check_of(release: Released) -> Job | None:
    """The newest check of the release as it is now."""
    stamp = release.stamp
    return next((job for job in _jobs_on(release, "verify") if job.arguments.get("stamp") == stamp), None)


def start_check(release: Released, *, by: str) -> Job:
    """Check the release as it is now, once; begun anew where an earlier check did not come to an end."""
    known = check_of(release)
    if known is not None and known.state in (JobState.RUNNING, JobState.DONE):
        return known
    return _start(release, "verify", by=by, stamp=release.stamp)


def handing_out(release: Released) -> Job | None:
    """The newest job that signs or packs the release; one that runs and cannot be told apart may be it."""
    known = jobs.all_jobs(release.own.root.folder, about=release.own.name, kinds=HANDING_OUT)
    unknown = [job for job in known if not job.is_readable and job.state is JobState.RUNNING]
    return next(iter([*unknown, *_jobs_on(release, *HANDING_OUT)]), None)


def start_handing_out(release: Released, kind: str, *, by: str) -> Job:
    """Sign and pack, or pack alone; while one such job runs there is no other."""
    known = handing_out(release)
    if known is not None and known.state is JobState.RUNNING:
        return known
    own = release.own
    asked = {"packs": own.shown(own.path(".packs")), "base": f"{own.name}-{release.name}"}
    if kind == "sign":
        asked["key" if own.root.path(KEY).is_file() else "new_key"] = KEY
    return _start(release, kind, by=by, **asked)


def _jobs_on(release: Released, *kinds: str) -> list[Job]:
    own = release.own
    folder = own.shown(release.folder)
    known = jobs.all_jobs(own.root.folder, about=own.name, kinds=kinds)
    return [job for job in known if job.arguments.get("folder") == folder]


def _start(release: Released, kind: str, *, by: str, **asked: str) -> Job:
    own, folder = release.own, release.own.shown(release.folder)
    known = jobs.all_jobs(own.root.folder, about=own.name, kinds=(kind,))
    ended = sorted(
        job.nonce
        for job in known
        if not job.is_readable or (job.arguments.get("folder") == folder and job.state is not JobState.RUNNING)
    )
    job, _ = jobs.start(
        own.root.folder,
        plans.form_number(kind, folder, release.stamp, ended),  # two tabs that ask at once start one
        kind=kind,
        arguments={"folder": folder, **asked},
        about=own.name,
        by=by,
        commands=commands_of(release, kind),
        python=python_of(release, kind),
    )
    return job


def commands_of(release: Released, kind: str) -> list[str]:
    """What a person would type for a kind of work: a release is checked before anything else."""
    own, folder = release.own, release.own.shown(release.folder)
    archive = own.shown(own.path(f"{own.name}-{release.name}.zip"))
    checked, packed = f"understudy verify {folder}", f"python -m zipfile -c {archive} {folder}"
    key = f"--{'key' if own.root.path(KEY).is_file() else 'new-key'} {KEY}"
    signed = [f"understudy passport {folder}", f"understudy sign {folder} {key}"]
    return [checked, *(signed if kind == "sign" else ()), *(() if kind == "verify" else (packed,))]


def python_of(release: Released, kind: str) -> list[str]:
    """The same in Python."""
    own, folder = release.own, release.own.shown(release.folder)
    archive = own.shown(own.path(f"{own.name}-{release.name}"))
    key = "key" if own.root.path(KEY).is_file() else "new_key"
    signed = [f'us.passport("{folder}")', f'us.sign("{folder}", {key}="{KEY}")']
    packed = f'shutil.make_archive("{archive}", "zip", "{own.shown(own.releases)}", "{release.name}")'
    return [
        *(() if kind == "verify" else ("import shutil",)),
        "import understudy as us",
        f'us.verify("{folder}")',
        *(signed if kind == "sign" else ()),
        *(() if kind == "verify" else (packed,)),
    ]
