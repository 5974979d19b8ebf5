"""The studio over a folder in which somebody damaged a file: every screen is still a page, and none a mistake of ours.

Everything that the studio keeps is there once: declarations, settings, approvals, plans, looks, jobs, releases.
"""

import fcntl
import os
import random
from pathlib import Path

import pytest
from fuzz.mutations import mixed, of_bytes, of_json, of_lines
from studio_visitor import Visitor
from test_studio_paying import checked, ended, handed_out, nonce_in, planned, small

from understudy.studio import jobs
from understudy.studio.jobs import ChargeFact, JobState
from understudy.studio.kept import keep, kept
from understudy.studio.looking import look

SEED = int(os.environ.get("UNDERSTUDY_FUZZ_SEED", "1"))
CASES = int(os.environ.get("UNDERSTUDY_FUZZ_SCREENS", "600"))
SETTINGS = 'people = ["A. Meyer", "B. Kuhn"]\napprovals = 2\n'
SCREENS = (
    "/", "/new", *(f"/d/small/{name}" for name in (
        "data", "data/rows", "codebook", "codebook/state", "codebook/column/0", "codebook/review", "codebook/rules",
        "codebook/attest", "codebook/difference", "quote", "quote/price?epsilon=1.2", "release", "report",
        "report/1", "report/1/page", "publish", "publish/1", "publish/1/checked", "publish/1/page",
        "publish/1/taking", "publish/1/zip", "anonymise", "others", "split",
    )),
)  # fmt: skip
PAID = frozenset((ChargeFact.COMMITTED, ChargeFact.UNKNOWN))
WHOLE = {".parquet", ".account", ".html", ".csv", ".key", ".pub", ".zip"}
"""Kinds of files that other targets damage (``tests/fuzz/targets.py``), or that a screen hands on unread."""


def lived_in(folder):
    """A data set that went all the way: looked at, paid for, evaluated, weighed, approved twice, signed and packed."""
    (folder / "studio.toml").write_text(SETTINGS)
    own = small(folder)
    first = Visitor(folder)
    second = Visitor(folder, keys=first.keys, app=first.app)
    for kind in ("rows", "columns", "rules"):
        assert look(own, kind)
    first.done("/d/small/codebook/column/0", {"kind": "categorical", "levels": "F\nM", "role": "sensitive"})
    planned(first)
    nonces = [nonce_in(first.get("/d/small/release"))]
    first.post("/d/small/release", {"nonce": nonces[0], "confirm": "small"})
    ended(own, nonces[0])
    first.done("/d/small/report/board", {"limit-share_error": "0.05", "by": "Data access board"})
    nonces.append(nonce_in(first.get("/d/small/report")))
    first.post("/d/small/report/1", {"nonce": nonces[1], "risk": "none"})
    ended(own, nonces[1])
    nonces.append(nonce_in(first.get("/d/small/anonymise")))
    ticked = [("quasi", "sex"), ("quasi", "age"), ("k", "5"), ("suppression", "0.05")]
    first.post("/d/small/anonymise/weigh", [("nonce", nonces[2]), *ticked])
    ended(own, nonces[2])
    first.done("/d/small/publish/1/check")
    checked(own)
    for visitor in (first, second):
        visitor.done("/d/small/publish/1/approve")
    first.done("/d/small/publish/1/sign")
    handed_out(own)
    return first


def told_of(folder):
    """The files that the studio itself reads, with how each is damaged."""
    ways = {".toml": mixed(of_lines), ".json": mixed(of_json), ".jsonl": of_a_line}
    for place in sorted(folder.rglob("*")):
        if place.is_file() and not place.is_symlink() and place.suffix not in WHOLE:
            yield place, ways.get(place.suffix, of_bytes)


def of_a_line(content, rng):
    """One of the lines damaged as JSON, or the bytes blindly."""
    lines = content.splitlines(keepends=True)
    if not lines or rng.random() < 1 / 3:
        return of_bytes(content, rng)
    place = rng.randrange(len(lines))
    lines[place] = of_json(lines[place], rng) + b"\n"
    return b"".join(lines)


@pytest.mark.long
def test_no_damaged_file_of_the_studio_is_a_mistake_of_ours(tmp_path):
    """One file after the other, each screen over it; then it is as it was."""
    visitor = lived_in(tmp_path)
    screens = [*SCREENS, *(f"/d/small/job/{job.nonce}{part}" for job in jobs.all_jobs(tmp_path)
                           for part in ("", "/part", "/events"))]  # fmt: skip
    whole = {screen: visitor.get(screen).status_code for screen in screens}
    assert max(whole.values()) < 500, whole
    (paid,) = jobs.all_jobs(tmp_path, kinds=("synthesize",))
    assert paid.charge_fact() is ChargeFact.COMMITTED
    places = list(told_of(tmp_path))
    names = {str(place.relative_to(tmp_path)) for place, _ in places}
    assert {"studio.toml", "small/dataset.toml", "small/approvals.jsonl", "small/releases/1/manifest.json"} <= names
    faults = []
    for case in range(CASES):
        rng = random.Random(f"{SEED}.{case}")
        place, damage = places[case % len(places)]
        kept, stat = place.read_bytes(), place.stat()
        if (content := damage(kept, rng)) == kept:
            continue
        place.write_bytes(content)
        # `studio.toml` is read once for each root, when the program starts
        asked = Visitor(tmp_path) if is_readable(tmp_path, place) else None
        for screen in rng.sample(screens, 6) if asked else ():
            try:
                status = asked.get(screen).status_code
            except Exception as reason:
                status = f"{type(reason).__name__}: {str(reason)[:300]}"
            if status not in range(500):
                faults.append(f"{SEED}.{case} {screen} with {place.name}: {status}\n  bytes: {content[:300]!r}")
        if (fact := paid.charge_fact()) not in PAID:
            faults.append(f"{SEED}.{case} a charge is told as {fact} with {place.name}: {content[:300]!r}")
        place.write_bytes(kept)
        os.utime(place, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # what was looked at is of these files again
        assert len(faults) < 5, "\n".join(faults)
    assert not faults, "\n".join(faults)
    del whole["/d/small/publish/1/zip"]  # a file of the release was written anew since it was packed
    assert {screen: visitor.get(screen).status_code for screen in whole} == whole, "every file is as it was"


CHARGES = (b"", b"x", b"2", b"\xff", None)


def test_a_damaged_note_of_a_charge_is_not_told_as_no_charge(tmp_path):
    own, visitor = small(tmp_path), Visitor(tmp_path)
    planned(visitor)
    nonce = nonce_in(visitor.get("/d/small/release"))
    visitor.post("/d/small/release", {"nonce": nonce, "confirm": "small"})
    job = ended(own, nonce)
    assert job.charge_fact() is ChargeFact.COMMITTED
    for content in CHARGES:
        note = job.folder / jobs.CHARGE
        if content is None:
            note.unlink()
        else:
            note.write_bytes(content)
        assert job.charge_fact() is ChargeFact.UNKNOWN, content
        assert "This cannot be told here" in visitor.get(f"/d/small/job/{nonce}").text
    (job.folder / jobs.RESULT).write_bytes(b"")
    assert job.state is JobState.KILLED and job.charge_fact() is ChargeFact.UNKNOWN, "nobody else noted that charge"
    keep(job.folder / jobs.RESULT, {"state": "failed"})
    assert job.charge_fact() is ChargeFact.UNKNOWN
    assert jobs.clean_up(tmp_path, spare=0) == 0
    keep(job.folder / jobs.REQUEST, job.request | {"when": "2999-01-01T00:00:00+00:00"})
    assert job.charge_fact() is ChargeFact.NOTHING, "the charge was made before it was asked for"


def test_work_whose_request_is_damaged_shuts_no_way_and_holds_up_what_it_may_be_doing(tmp_path):
    """Its number is not given again, it is told on its own screen, and while it runs nothing is released beside it."""
    own, visitor = small(tmp_path), Visitor(tmp_path)
    planned(visitor)
    first = nonce_in(visitor.get("/d/small/release"))
    folder = tmp_path / jobs.FOLDER / first
    folder.mkdir(parents=True)
    (folder / jobs.REQUEST).write_text('{"kind": "synthesize", "about": "small"}')  # no digest
    with (folder / jobs.LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert jobs.releasing(tmp_path, "small").nonce == first
        shown = visitor.get("/d/small/release").text
        assert first in shown and 'name="nonce"' not in shown, "one release at a time"
    shown = visitor.get(f"/d/small/job/{first}").text
    assert "its file is damaged" in shown and "understudy account history" in shown
    second = nonce_in(visitor.get("/d/small/release"))
    assert second != first
    visitor.post("/d/small/release", {"nonce": second, "confirm": "small"}, came_from="/d/small/release")
    ended(own, second)
    here = "/d/small/publish/1"
    visitor.done(f"{here}/check")
    check = checked(own)
    keep(check.folder / jobs.REQUEST, {})
    visitor.done(f"{here}/check")
    assert checked(own).nonce != check.nonce, "begun anew, under another number"


HALF = '"\\ud800"'
"""JSON can spell half of a character, which no page can hold."""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("releases/1/manifest.json", f'{{"format": 2, "method": {HALF}, "created": {HALF}}}'),
        ("approvals.jsonl", f'{{"format": 2, "release": "1", "content": "", "person": {HALF}, "when": ""}}\n'),
        (".looks/candidates.json", f'{{"quasi": [{HALF}], "candidates": []}}'),
        (".looks/candidates.json", '{"quasi": null, "candidates": [{"k": 5, "suppression": 0.1, "detail_lost": NaN,'
         ' "suppressed": 0, "highest": 0, "mean": 0, "why_not": ""}]}'),
        ("progress.jsonl", f'{{"at": 1.0, "step": {HALF}, "done": 1, "total": 2}}\n'),
        ("progress.jsonl", '{"at": 1, "step": "a", "done": 0, "total": 2}\n'
         '{"at": 2, "step": "a", "done": 1e-320, "total": 2}\n'),
    ],
)  # fmt: skip
def test_what_no_page_can_show_is_not_shown(tmp_path, name, content):
    own, visitor = small(tmp_path), Visitor(tmp_path)
    nonce = "a" * 32
    folder = tmp_path / jobs.FOLDER / nonce
    folder.mkdir(parents=True)
    keep(folder / jobs.REQUEST, {"kind": "verify", "about": "small", "arguments": {}})
    place = folder / name if name == jobs.PROGRESS else own.path(*name.split("/"))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content)
    for screen in (
        "/",
        *(f"/d/small/{name}" for name in ("publish", "publish/1", "anonymise", f"job/{nonce}", f"job/{nonce}/events")),
    ):
        assert visitor.get(screen).status_code < 500, screen


def is_readable(root: Path, place: Path) -> bool:
    """Settings that cannot be read end the program in a sentence, before there is a screen."""
    from understudy.errors import ParameterError
    from understudy.studio.workspace import Root

    if place != root / "studio.toml":
        return True
    try:
        return bool(Root.at(root).settings)
    except ParameterError as reason:
        assert "studio.toml" in str(reason)
        return False


def test_what_is_kept_is_read_again_whatever_its_texts_hold(tmp_path):
    for text in ("\ud800", "é\u2028\r\n", "\x00"):
        keep(tmp_path / "a.json", {"text": text})
        assert kept(tmp_path / "a.json") == {"text": text}
    (tmp_path / "b.json").write_bytes((tmp_path / "a.json").read_bytes())
    assert kept(tmp_path / "b.json") == {}, "it is another file's"


def test_the_note_of_work_on_another_account_claims_nothing(tmp_path):
    """Each account numbers its own charges, so the first of one is not the first of another."""
    charged = []
    for name in ("first", "second"):
        own, visitor = small(tmp_path, name), Visitor(tmp_path)
        here = f"/d/{name}"
        visitor.done(f"{here}/quote/account", {"epsilon": "1", "delta": "1e-5", "neighbours": "add-remove"})
        plan = {"epsilon": "0.5", "delta": "1e-6", "rows": "60", "rows_about": "200", "method": "marginals"}
        visitor.done(f"{here}/quote", plan)
        nonce = nonce_in(visitor.get(f"{here}/release"))
        visitor.post(f"{here}/release", {"nonce": nonce, "confirm": name})
        charged.append(ended(own, nonce))
    assert kept(charged[0].folder / jobs.CHARGE) == kept(charged[1].folder / jobs.CHARGE)
    for job in charged:
        (job.folder / jobs.RESULT).unlink()
    (charged[0].folder / jobs.CHARGE).unlink()
    assert charged[0].charge_fact() is ChargeFact.UNKNOWN, "nobody noted the charge of this account"
