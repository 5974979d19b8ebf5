"""The screens that pay, look and publish, without a browser: one charge, the right order, two names."""

import fcntl
import html
import io
import json
import os
import re
import shlex
import threading
import time
import zipfile
from types import SimpleNamespace

import pytest
from studio_visitor import Visitor

from understudy.facade import codebooks, methods, outlooks, releases, tables
from understudy.release.folders import digest_of, digest_of_bytes
from understudy.studio import approvals, jobs, plans, publishing
from understudy.studio.jobs import JobState
from understudy.studio.kept import keep
from understudy.studio.released import find_release
from understudy.studio.workspace import Root, new_dataset

BOOK = """format = 1
title = "Small"

[[columns]]
name = "sex"
kind = "categorical"
role = "quasi-identifier"
levels = ["F", "M"]

[[columns]]
name = "age"
kind = "integer"
role = "quasi-identifier"
edges = [0, 18, 65, 120]

[[columns]]
name = "<script>alert(1)</script>"
kind = "categorical"
levels = ["yes", "no"]
"""


def small(root, name="small"):
    """A data set of three columns, one of which tries to be a script."""
    own = new_dataset(Root.at(root), name, title="Small table", data="rows.csv")
    rows = [f"{'FM'[number % 2]},{number % 90},{('yes', 'no')[number % 3 == 0]}" for number in range(200)]
    own.path("rows.csv").write_text("\n".join(["sex,age,<script>alert(1)</script>", *rows, ""]))
    own.path("codebook.toml").write_text(BOOK)
    return own


def planned(visitor, *, epsilon="0.5", rows="60", cap="1"):
    """An open account and a kept plan."""
    visitor.done("/d/small/quote/account", {"epsilon": cap, "delta": "1e-5", "neighbours": "add-remove"})
    plan = {"epsilon": epsilon, "delta": "1e-6", "rows": rows, "rows_about": "200", "method": "marginals"}
    return visitor.done("/d/small/quote", plan)


def nonce_in(page):
    return re.search(r'name="nonce" value="([0-9a-f]{32})"', page.text)[1]


def ended(own, nonce, state=JobState.DONE):
    job = jobs.find(own.root.folder, nonce)
    deadline = time.monotonic() + 120
    while job.state is JobState.RUNNING and time.monotonic() < deadline:
        time.sleep(0.05)
    assert job.state is state, job.result
    return job


def test_the_price_follows_the_slider_and_reads_no_row(tmp_path):
    own = small(tmp_path)
    own.path("rows.csv").unlink()  # nothing of it is needed
    visitor = Visitor(tmp_path)
    before = visitor.get("/d/small/quote?epsilon=1.0&rows_about=200&rows=60")
    part = visitor.get("/d/small/quote/price?epsilon=2.0&rows_about=200&rows=60")
    assert "2.72 times at most" in before.text and "7.39 times at most" in part.text
    assert (
        part.headers["HX-Replace-Url"].startswith("/d/small/quote?") and "epsilon=2.0" in part.headers["HX-Replace-Url"]
    )
    assert "<script>alert" not in before.text + part.text
    assert "understudy quote" in before.text and "us.quote(" in before.text
    wrong = visitor.get("/d/small/quote/price?epsilon=minus&rows=60")
    assert wrong.status_code == 200 and "is no number" in wrong.text
    nothing = visitor.get("/d/small/quote/price?epsilon=-1&rows=60")
    assert nothing.status_code == 200 and "There is no price for this" in nothing.text
    assert not own.account.exists()  # looking changes nothing


def test_the_search_for_an_epsilon_starts_from_the_controls_as_they_stand(tmp_path):
    """The screen stays while they move, and only parts of it are put in place."""
    small(tmp_path)
    part = Visitor(tmp_path).get("/d/small/quote/price?epsilon=2.0&rows_about=4321&rows=60&method=laplace").text
    fields = re.search(r'<div id="error-fields" hx-swap-oob="true">(.*?)</div>', part)[1]
    assert 'name="rows_about" value="4321"' in fields and 'name="method" value="laplace"' in fields


NO_PRICE = ["delta=0", "delta=-1", "delta=nan", "delta=inf", "delta=2", "epsilon=-1", "epsilon=nan", "rows=0",
            "rows_about=0", "method=privbayes"]  # fmt: skip


def test_what_has_no_price_is_told_on_the_whole_screen_too(tmp_path):
    """The address of the screen follows the controls, so loading it anew asks for the same."""
    small(tmp_path)
    visitor = Visitor(tmp_path)
    for words in NO_PRICE:
        for screen in ("quote", "quote/price"):
            answer = visitor.get(f"/d/small/{screen}?epsilon=1&rows=60&rows_about=200&{words}")
            assert answer.status_code == 200 and "There is no price for this" in answer.text, words
        assert 'id="controls"' in visitor.get(f"/d/small/quote?rows=60&{words}").text, "the way back is there"


CODED = """
[[columns]]
name = "diagnosis"
kind = "icd9"
"""


def drawn_spans(page):
    """The errors that the drawing shows, by the words beside them: its axis goes from 0.0001 to 1."""
    drawing = next(one for one in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL) if "Expected errors" in one)
    words = re.findall(r'<text x="8.0"[^>]*>(.*?)</text>', drawing)
    bars = [(float(x), float(width)) for x, width in re.findall(r'<rect x="([0-9.]+)" [^>]*width="([0-9.]+)"', drawing)]
    ticks = {
        value: float(x)
        for x, value in re.findall(r'<text x="([0-9.]+)" [^>]*text-anchor="middle" [^>]*>([0-9.e-]+)</text>', drawing)
    }
    start, decade = ticks["0.0001"], (ticks["1"] - ticks["0.0001"]) / 4
    ends = [tuple(10 ** ((at - start) / decade - 4) for at in (x, x + width)) for x, width in bars]
    return dict(zip(map(html.unescape, words), ends, strict=True))


def told_forecast(page):
    """What the screen says of errors, levels and codes, as plain text."""
    (section,) = re.findall(r'<section aria-labelledby="buys">(.*?)</section>', page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<(?!svg)[^>]+>", "", re.sub(r"<svg.*?</svg>", "", section, flags=re.DOTALL)))


def test_the_forecast_tells_errors_intervals_and_which_codes_vanish(tmp_path):
    """What a price buys, in words and as a drawing: the figures of `us.quote`, also while the slider moves."""
    own = small(tmp_path)
    own.codebook.write_text(own.codebook.read_text() + CODED)
    own.path("rows.csv").unlink()  # nothing of it is needed
    visitor = Visitor(tmp_path)
    seen = {}
    for screen, epsilon in (("quote", 1.0), ("quote/price", 1.0), ("quote/price", 4.0)):
        page = visitor.get(f"/d/small/{screen}?epsilon={epsilon}&rows_about=20000&rows=60").text
        expected = tables.quote(
            codebooks.load_any(own.codebook), 60, rows_about=20_000, epsilon=epsilon, delta=1e-6
        ).forecast
        told, drawn = told_forecast(page), drawn_spans(page)
        for span, words in (
            (expected.one_way, "tables of one column: expected error {}"),
            (expected.two_way, "tables of two columns: expected error {}, on average"),
        ):
            assert words.format(span) in told
        points = [min(100.0, 100 * end) for end in (expected.share_noise.low, expected.share_noise.high)]
        assert re.search(
            rf"the share of a group: noise adds {points[0]:.2g}( to {points[1]:.2g})? points either way", told
        )
        (codes,) = expected.codes
        assert f"one with {codes.records:,} records or more in a column shows" in told
        assert f"levels below about {expected.merged_below:.2%} of the records" in told
        for words, span in (
            ("shares of one column", expected.one_way),
            ("tables of two columns", expected.two_way),
            ("noise in the share of a group, either way", expected.share_noise),
        ):
            low, high = drawn[words]
            least = max(span.low, 1e-4)
            assert low == pytest.approx(least, rel=0.02) and high >= low, words
            if span.high > 1.2 * least:  # shorter bars are drawn so that they can be seen
                assert high == pytest.approx(span.high, rel=0.02), words
        seen[screen, epsilon] = (drawn["tables of two columns"], codes.records)
    assert seen["quote", 1.0] == seen["quote/price", 1.0]
    (before, needed), (after, fewer) = seen["quote/price", 1.0], seen["quote/price", 4.0]
    assert after[1] < before[1] and fewer < needed, "a larger epsilon buys smaller errors and shows rarer codes"


def test_an_error_that_is_named_finds_its_epsilon(tmp_path):
    small(tmp_path)
    visitor = Visitor(tmp_path)
    answer = visitor.get("/d/small/quote/error?error=0.1&rows_about=5000&rows=60&first=age&second=sex")
    assert answer.status_code == 303
    epsilon = float(re.search(r"epsilon=([0-9.]+)", answer.headers["location"])[1])
    outlook = tables.quote(
        codebooks.load_any(tmp_path / "small" / "codebook.toml"), 60, rows_about=5000, epsilon=epsilon, delta=1e-6
    ).forecast
    assert outlook.two_way.low <= 0.1 and "is enough" in visitor.get(answer.headers["location"]).text
    refused = visitor.get("/d/small/quote/error?error=much")
    assert "name the error as a number" in visitor.get(refused.headers["location"]).text


def test_two_tabs_pay_once_and_an_old_tab_does_not_pay_at_all(tmp_path):
    own, visitor = small(tmp_path), Visitor(tmp_path)
    planned(visitor)
    first, second = (visitor.get("/d/small/release") for _ in range(2))
    nonce = nonce_in(first)
    assert nonce_in(second) == nonce
    wrong = visitor.post("/d/small/release", {"nonce": nonce, "confirm": "smal"}, came_from="/d/small/release")
    assert wrong.status_code == 303 and jobs.find(own.root.folder, nonce) is None
    assert "to pay, type the name" in visitor.get("/d/small/release").text
    for _ in range(2):
        answer = visitor.post("/d/small/release", {"nonce": nonce, "confirm": "small"})
        assert answer.headers["location"] == f"/d/small/job/{nonce}"
    job = ended(own, nonce)
    shown = visitor.get(f"/d/small/job/{nonce}")
    assert "Yes. The account small/small.account was charged" in shown.text and "Checked at once" in shown.text
    assert len(releases.open_account(own.account).history()) == 1
    assert releases.verify(own.root.folder / job.arguments["out"]).is_valid
    assert nonce_in(visitor.get("/d/small/release")) != nonce  # another release is another decision
    stale = visitor.post("/d/small/release", {"nonce": "0" * 32, "confirm": "small"}, came_from="/d/small/release")
    assert stale.status_code == 303 and "has changed since" in visitor.get("/d/small/release").text
    assert len(releases.open_account(own.account).history()) == 1
    told = visitor.get(f"/d/small/job/{nonce}/events")
    assert "event: progress" in told.text and told.text.rstrip().endswith("event: end\ndata: end")
    assert job.request["commands"][1].startswith("understudy synth small/rows.csv -c small/codebook.toml --epsilon 0.5")


def test_two_tabs_that_pay_at_the_same_instant_are_charged_once(tmp_path, monkeypatch):
    """Both have passed every check before either starts: what decides is one folder that can be made only once."""
    own, visitor = small(tmp_path), Visitor(tmp_path)
    planned(visitor)
    nonce, csrf = nonce_in(visitor.get("/d/small/release")), visitor.csrf
    together, real = threading.Barrier(4, timeout=60), jobs.start

    def started(*words, **more):
        together.wait()
        return real(*words, **more)

    monkeypatch.setattr(jobs, "start", started)
    answers = []

    def press():
        form = {"nonce": nonce, "confirm": "small"}
        answers.append(visitor.post("/d/small/release", form, csrf=csrf, came_from="/d/small/release"))

    tabs = [threading.Thread(target=press) for _ in range(4)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert [answer.headers["location"] for answer in answers] == [f"/d/small/job/{nonce}"] * 4
    ended(own, nonce)
    assert [job.nonce for job in jobs.all_jobs(own.root.folder)] == [nonce]
    (charge,) = releases.open_account(own.account).history()
    assert charge.state.value == "committed" and [place.name for place in own.releases.iterdir()] == ["1"]


def test_a_tab_that_is_overtaken_while_it_pays_is_led_to_the_same_work(tmp_path, monkeypatch):
    """The other one pays while this one looks whether anybody has: it is told of one payment, not refused."""
    own, visitor = small(tmp_path), Visitor(tmp_path)
    planned(visitor)
    form = {"nonce": nonce_in(visitor.get("/d/small/release")), "confirm": "small"}
    real, looked = jobs.find, []

    def overtaken(root, nonce):
        found = real(root, nonce)
        if not looked:
            looked.append(found)
            assert visitor.post("/d/small/release", form).headers["location"].endswith(form["nonce"])
        return found

    monkeypatch.setattr(jobs, "find", overtaken)
    answer = visitor.post("/d/small/release", form, came_from="/d/small/release")
    assert answer.headers["location"] == f"/d/small/job/{form['nonce']}" and looked == [None]
    ended(own, form["nonce"])
    assert len(releases.open_account(own.account).history()) == 1


def test_limits_come_before_the_report_and_the_account_remembers_it(tmp_path):
    own, visitor = small(tmp_path), Visitor(tmp_path)
    planned(visitor)
    nonce = nonce_in(visitor.get("/d/small/release"))
    visitor.post("/d/small/release", {"nonce": nonce, "confirm": "small"})
    ended(own, nonce)
    screen = visitor.get("/d/small/report")
    assert "Fix the limits above first" in screen.text and 'name="nonce"' not in screen.text
    early = visitor.post("/d/small/report/1", {"nonce": "1" * 32}, came_from="/d/small/report")
    assert early.status_code == 303 and "limits of the board first" in visitor.get("/d/small/report").text
    refused = visitor.post("/d/small/report/board", {"limit-share_error": "7", "by": "B"}, came_from="/d/small/report")
    assert refused.status_code == 303 and not own.path("board.toml").exists()
    visitor.done("/d/small/report/board", {"limit-share_error": "0.05", "by": "Data access board"})
    nonce = nonce_in(visitor.get("/d/small/report"))
    visitor.post("/d/small/report/1", {"nonce": nonce, "risk": "none"})
    ended(own, nonce)
    looks = releases.open_account(own.account).looks()
    assert [what for _, what in looks] == ["evaluation of small/releases/1"]
    page = visitor.get("/d/small/report/1/page")
    assert page.headers["content-security-policy"].startswith("sandbox") and "Data access board" in page.text
    assert own.path("reports", "1.html").stat().st_mode & 0o077 == 0
    later = visitor.post("/d/small/report/board", {"limit-share_error": "0.5", "by": "B"}, came_from="/d/small/report")
    assert later.status_code == 303 and "its limits stand" in visitor.get("/d/small/report").text
    assert "confidential look" in visitor.get("/d/small/publish").text


def test_nothing_leaves_the_house_without_the_second_name(tmp_path):
    (tmp_path / "studio.toml").write_text('people = ["A. Meyer", "B. Kuhn"]\napprovals = 2\n')
    own = small(tmp_path)
    first = Visitor(tmp_path)
    second = Visitor(tmp_path, keys=first.keys, app=first.app)
    tables.synthesize(
        own.path("rows.csv"), own.codebook, 40, epsilon=1.0, delta=1e-6, out=private(own), method="marginals"
    )
    here = "/d/small/publish/1"
    assert first.get(f"{here}/zip").status_code == 422
    assert "2 more named people" in first.get(here).text
    first.done(f"{here}/approve")
    again = first.post(f"{here}/approve", came_from=here)
    assert again.status_code == 303 and "must come from somebody else" in first.get(here).text
    signing = first.post(f"{here}/sign", came_from=here)
    assert signing.status_code == 303 and "may not leave the house" in first.get(here).text
    assert not (own.releases / "1" / "signature.json").exists()
    second.done(f"{here}/approve")
    first.done(f"{here}/sign")
    handed_out(own)
    taken = second.get(f"{here}/zip")
    assert taken.headers["x-understudy-audience"] == "public"
    names = {name.removeprefix("small-1/") for name in zipfile.ZipFile(io.BytesIO(taken.content)).namelist()}
    assert {"manifest.json", "signature.json", "passport.json", "synthetic.parquet", "index.html"} <= names
    assert (tmp_path / "publisher.key").stat().st_mode & 0o077 == 0
    assert releases.verify(own.releases / "1", key=tmp_path / "publisher.key.pub").is_valid
    release = find_release(own, "1")
    assert [one.person for one in approvals.approvals_of(release)] == ["A. Meyer", "B. Kuhn"]
    manifest = release.folder / "manifest.json"
    manifest.write_text(manifest.read_text() + "\n")
    assert approvals.missing(release) == 2  # another manifest is another release
    told = second.get(here).text
    assert "asks for no approvals" in told and "can sign by command without it" in told


def approved_by_two(root):
    """A release that both have approved, and the two of them."""
    (root / "studio.toml").write_text('people = ["A. Meyer", "B. Kuhn"]\napprovals = 2\n')
    own = small(root)
    first = Visitor(root)
    second = Visitor(root, keys=first.keys, app=first.app)
    tables.synthesize(
        own.path("rows.csv"), own.codebook, 40, epsilon=1.0, delta=1e-6, out=private(own), method="marginals"
    )
    for person in (first, second):
        person.done("/d/small/publish/1/approve")
    assert approvals.missing(find_release(own, "1")) == 0
    return own, first


def swapped(table):
    """Other rows in a file of the same size and time."""
    before, stat = table.read_bytes(), table.stat()
    table.write_bytes(bytes([*before[:40], before[40] ^ 1, *before[41:]]))
    os.utime(table, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def foreign_passport(folder):
    """A text of somebody's own, listed by a passport whose words this version does not compare."""
    words = b"Free for all uses."
    (folder / "README.md").write_bytes(words)
    listed = {"README.md": digest_of_bytes(words)}
    told = {"passport": 1, "version": "0.0.0", "manifest": digest_of(folder / "manifest.json"), "files": listed}
    (folder / "passport.json").write_text(json.dumps(told))
    assert releases.verify(folder).is_valid


@pytest.mark.parametrize(
    "change",
    [
        foreign_passport,
        lambda folder: swapped(folder / "synthetic.parquet"),
        lambda folder: (folder / "index.html").write_text("<p>another page"),
        lambda folder: (folder / "notes.txt").write_text("one more"),
        lambda folder: (folder / "codebook.toml").unlink(),
        lambda folder: (
            (folder / "passport.json").write_text('{"files": ["synthetic.parquet"]}')
            and swapped(folder / "synthetic.parquet")
        ),
    ],
    ids=["foreign-passport", "table", "page", "one-more", "one-less", "called-a-passport"],
)
def test_an_approval_is_of_every_file(tmp_path, change):
    own, visitor = approved_by_two(tmp_path)
    assert "approved by A. Meyer, B. Kuhn" in visitor.get("/d/small/publish").text
    change(own.releases / "1")
    assert approvals.approvals_of(find_release(own, "1")) == []
    shown = [visitor.get(f"/d/small/publish{end}").text for end in ("", "/1")]
    assert "2 approvals missing" in shown[0] and "Nobody has approved it yet" in shown[1]
    visitor.post("/d/small/publish/1/sign", came_from="/d/small/publish/1")
    assert "may not leave the house" in visitor.get("/d/small/publish/1").text
    assert not (own.releases / "1" / "signature.json").exists()


def test_nobody_approves_what_the_screen_did_not_show(tmp_path):
    own, visitor = approved_by_two(tmp_path)
    own.path(approvals.FILE).unlink()
    here = "/d/small/publish/1"
    shown = re.search(r'/approve">.*?name="shown" value="([^"]+)"', visitor.get(here).text, flags=re.DOTALL)[1]
    (own.releases / "1" / "index.html").write_text("<p>another page")
    visitor.post(f"{here}/approve", {"shown": shown}, came_from=here)
    assert "nothing was approved" in visitor.get(here).text and not own.path(approvals.FILE).exists()


def handed_out(own, state=JobState.DONE):
    """Once the release is signed and packed, or packed."""
    return ended(own, publishing.handing_out(find_release(own, "1")).nonce, state)


def checked(own, state=JobState.DONE):
    return ended(own, publishing.check_of(find_release(own, "1")).nonce, state)


def test_checking_signing_and_packing_are_work_that_no_answer_waits_for(tmp_path):
    own, visitor = small(tmp_path), Visitor(tmp_path)
    tables.synthesize(
        own.path("rows.csv"), own.codebook, 40, epsilon=1.0, delta=1e-6, out=private(own), method="marginals"
    )
    here = "/d/small/publish/1"
    shown = visitor.get(here).text
    assert f'hx-post="{here}/check" hx-trigger="load' in shown and jobs.all_jobs(own.root.folder) == []
    shown = visitor.done(f"{here}/check").text
    assert "was computed again" in shown or ("Checking every" in shown and f'hx-get="{here}/checked"' in shown)
    visitor.post(f"{here}/check", came_from=here)  # the other tab
    job = checked(own)
    assert [one.kind for one in jobs.all_jobs(own.root.folder)] == ["verify"], "looking again starts nothing"
    part = visitor.get(f"{here}/checked").text
    assert "was computed again, and is so" in part and "hx-get" not in part
    assert "See it as outsiders will" in visitor.get(f"/d/small/job/{job.nonce}").text
    found = Visitor(tmp_path).get(here).text  # another studio on the same root finds it again
    assert "was computed again, and is so" in found
    assert visitor.get(f"{here}/zip").status_code == 422, "nothing is packed yet"
    visitor.done(f"{here}/pack")
    visitor.post(f"{here}/pack", came_from=here)  # the other tab
    handed_out(own)
    assert len([one for one in jobs.all_jobs(own.root.folder) if one.kind == "pack"]) == 1
    packed = next(own.path(".packs").iterdir())
    assert packed.stat().st_mode & 0o077 == 0 and zipfile.ZipFile(packed).testzip() is None
    ready = visitor.get(here).text
    assert "Download as zip" in ready and "Pack it as zip" not in ready
    assert visitor.get(f"{here}/zip").content == packed.read_bytes()
    visitor.done(f"{here}/sign")
    job = handed_out(own)
    assert job.kind == "sign" and f"key {job.result['told']['key'][:23]}" in visitor.get(here).text
    assert [place.name for place in own.path(".packs").iterdir()] != [packed.name], "packed anew, the old one gone"
    names = zipfile.ZipFile(next(own.path(".packs").iterdir())).namelist()
    assert "small-1/signature.json" in names
    visitor.done(f"{here}/check")
    checked(own)
    assert "Signed with the key" in visitor.get(f"{here}/checked").text


def test_a_release_that_does_not_verify_is_neither_signed_nor_packed(tmp_path):
    own, visitor = small(tmp_path), Visitor(tmp_path)
    tables.synthesize(
        own.path("rows.csv"), own.codebook, 40, epsilon=1.0, delta=1e-6, out=private(own), method="marginals"
    )
    here = "/d/small/publish/1"
    visitor.done(f"{here}/check")
    checked(own)
    table = own.releases / "1" / "synthetic.parquet"
    table.write_bytes(table.read_bytes() + b"x")
    assert "is about to begin" in visitor.get(here).text, "a changed file is another check"
    visitor.done(f"{here}/check")
    checked(own)
    assert "Do not publish it" in visitor.get(f"{here}/checked").text
    for kind in ("pack", "sign"):
        visitor.done(f"{here}/{kind}")
        handed_out(own, JobState.REFUSED)
        assert "does not verify" in visitor.get(here).text and visitor.get(f"{here}/zip").status_code == 422
    assert not (own.releases / "1" / "signature.json").exists() and not own.path(".packs").exists()
    assert not (own.releases / "1" / "passport.json").exists()


def test_a_check_that_was_stopped_is_begun_again_on_demand(tmp_path):
    own, visitor = small(tmp_path), Visitor(tmp_path)
    tables.synthesize(
        own.path("rows.csv"), own.codebook, 40, epsilon=1.0, delta=1e-6, out=private(own), method="marginals"
    )
    here = "/d/small/publish/1"
    visitor.done(f"{here}/check")
    stopped = checked(own)
    keep(stopped.folder / "result.json", {"state": "cancelled"})  # it may be over before one can stop it
    shown = visitor.get(here).text
    assert "The check was cancelled" in shown and "Check it again" in shown and "hx-post" not in shown
    assert publishing.check_of(find_release(own, "1")).nonce == stopped.nonce, "looking does not begin it again"
    visitor.done(f"{here}/check")
    assert checked(own).nonce != stopped.nonce
    visitor.done(f"{here}/check")
    assert len(jobs.all_jobs(own.root.folder)) == 2, "what is known is not computed again"


def test_a_report_that_a_command_made_waits_for_the_limits_too(tmp_path):
    own, visitor = small(tmp_path), Visitor(tmp_path)
    tables.synthesize(
        own.path("rows.csv"), own.codebook, 40, epsilon=1.0, delta=1e-6, out=private(own), method="marginals"
    )
    own.reports.mkdir()
    own.path("reports", "1.html").write_text("<p>secret</p>")
    for place in ("/d/small/report/1", "/d/small/report/1/page", "/d/small/report/1/file"):
        answer = visitor.get(place)
        assert answer.status_code == 422 and "limits of the board first" in answer.text and "secret" not in answer.text
    assert "Read it" not in visitor.get("/d/small/report").text
    visitor.done("/d/small/report/board", {"limit-share_error": "0.05", "by": "Data access board"})
    assert visitor.get("/d/small/report/1/page").text == "<p>secret</p>"


def test_what_is_confidential_is_called_so_in_the_folder_of_downloads(tmp_path):
    """There it lies among everything else; what may leave the house is not called so."""
    own, visitor = small(tmp_path), Visitor(tmp_path)
    tables.synthesize(
        own.path("rows.csv"), own.codebook, 40, epsilon=1.0, delta=1e-6, out=private(own), method="marginals"
    )
    own.reports.mkdir()
    own.path("reports", "1.html").write_text("<p>secret</p>")
    visitor.done("/d/small/report/board", {"limit-share_error": "0.05", "by": "Data access board"})
    assert 'href="/d/small/report/1/file" download' in visitor.get("/d/small/report/1").text
    kept = visitor.get("/d/small/report/1/file")
    assert kept.text == "<p>secret</p>" and kept.headers["x-understudy-audience"] == "confidential"
    assert kept.headers["content-disposition"] == "attachment; filename*=UTF-8''CONFIDENTIAL-small-1-report.html"
    assert kept.headers["cache-control"] == "no-store"
    visitor.done("/d/small/publish/1/pack")
    handed_out(own)
    taken = visitor.get("/d/small/publish/1/zip")
    assert taken.headers["content-disposition"] == 'attachment; filename="small-1.zip"'
    assert taken.headers["x-understudy-audience"] == "public"
    for screen in ("data", "codebook", "codebook/column/0", "quote", "release", "report/1", "publish/1", "anonymise"):
        offered = set(re.findall(r'href="([^"]+)" download', visitor.get(f"/d/small/{screen}").text))
        assert offered <= {"/d/small/report/1/file", "/d/small/publish/1/zip"}, f"{screen}: a name to be checked here"


def private(own):
    own.releases.mkdir()
    return own.releases / "1"


def test_candidates_are_weighed_and_one_is_made(tmp_path):
    own, visitor = small(tmp_path), Visitor(tmp_path)
    planned(visitor)
    fields = [("nonce", nonce_in(visitor.get("/d/small/anonymise"))), ("k", "5"), ("suppression", "0.05")]
    ticked = [("quasi", "sex"), ("quasi", "age")]
    visitor.post("/d/small/anonymise/weigh", [*fields, *ticked])
    ended(own, fields[0][1])
    assert own.path(".looks", "candidates.json").stat().st_mode & 0o077 == 0
    screen = visitor.get("/d/small/anonymise")
    assert screen.text.count("Make this one") >= 4
    nonce = nonce_in(screen)
    visitor.post("/d/small/anonymise", [("nonce", nonce), ("k", "5"), ("mondrian", "1"), *ticked])
    job = ended(own, nonce)
    assert "No account was involved" not in visitor.get(f"/d/small/job/{nonce}").text
    assert releases.verify(own.root.folder / job.arguments["out"]).is_valid
    assert visitor.get("/d/small/report/1/page").status_code == 200, "made to a demand, which was its limit"
    looks = [what for _, what in releases.open_account(own.account).looks()]
    assert looks == ["candidates for an anonymised table", "report about the anonymised release 1"]
    nobody = visitor.post("/d/small/anonymise", [("nonce", "2" * 32), ("k", "5")], came_from="/d/small/anonymise")
    assert nobody.status_code == 303 and "tick the columns" in visitor.get("/d/small/anonymise").text


def test_addresses_that_lead_nowhere(tmp_path):
    own, visitor = small(tmp_path), Visitor(tmp_path)
    (tmp_path / "secret.html").write_text("<!-- understudy page, made from confidential data -->")
    own.path("page.html").write_text("<!-- understudy page, made from confidential data --><p>here</p>")
    own.path("strange.html").write_text("<p>not ours</p>")
    assert "page.html" in (text := visitor.get("/d/small/others").text) and "strange.html" not in text
    assert visitor.get("/d/small/others/page?file=page.html").status_code == 200
    for path in (
        "others/page?file=../secret.html",
        "others/page?file=strange.html",
        "publish/..%2f..",
        "publish/none",
        "report/none/page",
        f"job/{'0' * 32}",
        "job/..%2f..%2fx/events",
    ):
        assert visitor.get(f"/d/small/{path}").status_code in (404, 422), path


def test_a_recipe_from_elsewhere_is_the_plan(tmp_path):
    own = small(tmp_path)
    own.path("recipe.toml").write_text('method = "laplace"\nrows = 30\nepsilon = 0.3\n')
    plan = plans.saved_plan(own)
    assert (plan.method, plan.rows, plan.options) == ("laplace", 30, {"epsilon": 0.3})
    assert "--method laplace --epsilon 0.3 --rows 30" in plan.flags()
    for text, sentence in (
        ('method = "laplace"\n', "so it has no price yet"),
        ('method = "marginals"\nrows = 30\nepsilon = 0.3\ndelta = 1e-6\nmax_levels = 9\n', "sets `max_levels`"),
    ):
        own.path("recipe.toml").write_text(text)
        visitor = Visitor(tmp_path)
        for screen in ("quote", "release"):  # a price of something else is never shown as its own
            assert sentence in html.unescape(visitor.get(f"/d/small/{screen}").text).replace("<code>", "`").replace(
                "</code>", "`"
            )
        assert "Pay epsilon" not in visitor.get("/d/small/release").text
        assert planned(visitor).status_code == 200 and plans.saved_plan(own).method == "marginals"
        own.account.unlink()


def test_what_an_account_would_say(tmp_path):
    book = codebooks.load_any(small(tmp_path).codebook)
    account = tmp_path / "a.account"
    releases.create_account(account, dataset="x", epsilon=1, delta=1e-5, neighbours="add-remove")
    priced = tables.quote(book, 10, epsilon=0.5, delta=1e-6)
    outlook = outlooks.account_outlook(account, priced)
    assert outlook.fits and outlook.before == 0 and outlook.after == pytest.approx(0.5, rel=1e-6)
    refused = outlooks.account_outlook(account, tables.quote(book, 10, epsilon=2.0, delta=1e-6))
    assert not refused.fits and "above its cap" in refused.refusal
    strange = outlooks.account_outlook(
        account, tables.quote(book, 10, epsilon=0.5, delta=1e-6, neighbours="replace-one")
    )
    assert strange.after is None and "replace-one" in strange.refusal
    assert releases.open_account(account).history() == []
    assert outlooks.belief_after(priced.total, 0.5) == pytest.approx(0.623)  # 1 / (1 + e^-0.5), rounded up


def test_the_commands_on_the_screens_work(tmp_path, monkeypatch):
    """What a screen shows as the same by command is typed in the root folder, and does it."""
    from typer.testing import CliRunner

    from understudy.cli.app import app

    own, visitor = small(tmp_path), Visitor(tmp_path)
    planned(visitor)
    monkeypatch.chdir(tmp_path)
    typed, kinds = set(), set()
    for screen in ("quote", "release", "anonymise", "others", "publish"):  # each shows what is there by then
        text = html.unescape(visitor.get(f"/d/small/{screen}").text)
        lines = [line.split(">")[-1] for line in text.splitlines()]
        for line in lines:
            if not line.startswith(("understudy ", "mkdir ")) or line in typed:
                continue
            typed.add(line)
            program, *words = shlex.split(line)
            kinds.add(words[0])
            if program == "mkdir":
                for folder in words[1:]:
                    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
            elif words[0] not in ("commute", "train"):  # no such table here, or it takes long
                done = CliRunner().invoke(app, words, catch_exceptions=False)
                assert done.exit_code == 0, (line, done.output)
    assert kinds >= {"quote", "synth", "verify", "anonymize", "account", "count", "answer", "-p"}
    assert {place.name for place in own.releases.iterdir()} == {"1", "2"}


def test_methods_ask_for_the_public_numbers_that_they_need(tmp_path):
    """The fields come from what the methods declare; a plan keeps the numbers, and the commands name them."""
    own = small(tmp_path)
    visitor = Visitor(tmp_path)
    page = visitor.get("/d/small/quote").text
    for field in ("privbayes.public_rows", "pegs-rs.block_size", "sbhg.public_rows", "sbhg.parent_count"):
        assert f'name="{field}"' in page
    assert 'name="marginals.' not in page
    asked = "/d/small/quote/price?method=privbayes&epsilon=1&rows=60"
    assert "needs a further public number: fill in" in visitor.get(asked).text
    assert "no number" in visitor.get(f"{asked}&privbayes.public_rows=many").text
    assert "2.72 times at most" in visitor.get(f"{asked}&privbayes.public_rows=5000&sbhg.public_rows=7").text
    visitor.done("/d/small/quote/account", {"epsilon": "3", "delta": "1e-5", "neighbours": "add-remove"})
    kept = {"method": "privbayes", "epsilon": "1", "rows": "60", "rows_about": "200", "privbayes.public_rows": "5000"}
    page = visitor.done("/d/small/quote", kept).text
    assert plans.saved_plan(own).numbers == (("public_rows", 5000),)
    assert "--method privbayes --epsilon 1.0 --public-rows 5000" in page and "public_rows=5000" in page
    assert 'name="privbayes.public_rows" min="2" value="5000"' in visitor.get("/d/small/quote").text


def reasons_in(page):
    """What the screen says of each method for this codebook and these numbers."""
    found = re.findall(r'<span id="why-([\w-]+)"[^>]*>(.*?)</span>', page.text)
    return {name: html.unescape(re.sub("<[^>]+>", "", why)) for name, why in found}


def test_every_method_has_a_reason_of_its_own(tmp_path):
    """It follows from the codebook and from the public numbers, also while the controls move."""
    own, visitor = small(tmp_path), Visitor(tmp_path)
    asked = "epsilon=0.8&rows=60&rows_about=200"
    told = reasons_in(visitor.get(f"/d/small/quote?{asked}"))
    assert list(told) == [one["name"] for one in plans.offered_methods()]
    assert len(set(told.values())) == len(told) and all(told.values())
    assert "3 pairs of 3" in told["marginals"], "the recommended one has a reason for this codebook too"
    assert "12 combinations for about 200 records, few enough" in told["sba"] and "withheld" in told["sba"]
    assert "few enough" in told["laplace"] and "delta is 0" in told["laplace"]
    for name in ("pegs", "pmi", "marginal-bootstrap", "pegs-rs"):
        assert "60 rows" in told[name] and "epsilon of 0.8" in told[name]
    assert "holds only with conditions" in told["sbhg"] and "conditions" not in told["sbhg-gauss"]
    assert "“Number of records, publicly known”" in told["privbayes"]
    assert "Rows of each chain" in told["pegs-rs"] and "Columns that each" not in told["sbhg"], "it has a value"

    moved = "epsilon=2&rows=70&rows_about=9&method=privbayes"
    part = reasons_in(visitor.get(f"/d/small/quote/price?{moved}"))
    assert "12 combinations, more than the about 9 records" in part["sba"] and "noise fills" in part["laplace"]
    assert "70 rows share one epsilon of 2." in part["pegs"] and "public number first" in part["privbayes"]
    named = reasons_in(visitor.get(f"/d/small/quote/price?{moved}&privbayes.public_rows=500"))
    assert "public number" not in named["privbayes"] and "public number" in named["pegs-rs"]

    assert "People have up to" not in visitor.get("/d/small/quote").text
    wide = "".join(
        f'\n[[columns]]\nname = "c{number}"\nkind = "integer"\nedges = [{", ".join(map(str, range(41)))}]\n'
        for number in range(8)
    )
    person = '\n[[columns]]\nname = "person"\nkind = "text"\nrole = "identifier"\n\n[unit]\nid = "person"\ncap = 4\n'
    own.codebook.write_text(own.codebook.read_text() + wide + person)
    page = visitor.get(f"/d/small/quote?{asked}")
    assert "more than a billion combinations" in reasons_in(page)["sba"] and "People have up to 4 records" in page.text


def test_a_claim_that_is_not_true_is_told_with_what_to_take_instead(monkeypatch):
    from dataclasses import replace

    recipe = methods.synthesis_methods()["pegs"]
    monkeypatch.setattr(recipe, "facts", replace(recipe.facts, sound="unsound", instead="marginals"))
    assert "unsound" in methods.method_reasons("pegs", SimpleNamespace(cells=4), rows_about=10)


def test_of_a_method_of_another_package_nothing_is_told_that_nobody_here_knows(tmp_path, monkeypatch):
    """It has an epsilon and a delta as `marginals` has, which is no reason to praise it for the same."""
    monkeypatch.setattr(methods, "method_package", lambda name: "their_package" if name == "sba" else None)
    small(tmp_path)
    told = reasons_in(Visitor(tmp_path).get("/d/small/quote"))
    assert "their_package" in told["sba"] and "combinations" not in told["sba"]
    assert "their_package" not in told["laplace"]


def test_one_release_at_a_time(tmp_path, monkeypatch):
    """The next one would get the same number: neither another tab nor the back button pays for it."""
    own, visitor = small(tmp_path), Visitor(tmp_path)
    planned(visitor)
    held = []  # work goes on as long as its lock is held: here by the test, and not for as long as it happens to take

    def working(job, lock):
        held.append(os.dup(lock))
        return SimpleNamespace(poll=lambda: 0)

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "_spawned", working)
        visitor.post("/d/small/release", {"nonce": nonce_in(visitor.get("/d/small/release")), "confirm": "small"})
    (job,) = jobs.all_jobs(own.root.folder)
    assert job.state is JobState.RUNNING
    shown = visitor.get("/d/small/release")
    assert "can be paid when it has ended" in shown.text and 'name="confirm"' not in shown.text
    asked = {"nonce": "0" * 32, "confirm": "small", "k": "5", "mondrian": "1", "quasi": "sex"}
    for path in ("/d/small/release", "/d/small/anonymise"):
        assert visitor.post(path, asked, came_from="/d/small/release").status_code == 303
        assert "is being made right now" in visitor.get("/d/small/release").text
    os.close(held.pop())
    assert job.state is JobState.KILLED and len(jobs.all_jobs(own.root.folder)) == 1
    assert releases.open_account(own.account).history() == []
    nonce = nonce_in(visitor.get("/d/small/release"))
    visitor.post("/d/small/release", {"nonce": nonce, "confirm": "small"})
    ended(own, nonce)
    assert len(jobs.all_jobs(own.root.folder)) == 2 and len(releases.open_account(own.account).history()) == 1


def test_what_was_written_before_a_job_was_stopped_is_told(tmp_path):
    """Cancelled while the finished release is checked: it is there, and it was charged."""
    own, visitor = small(tmp_path), Visitor(tmp_path)
    planned(visitor)
    visitor.post("/d/small/release", {"nonce": nonce_in(visitor.get("/d/small/release")), "confirm": "small"})
    (job,) = jobs.all_jobs(own.root.folder)
    ended(own, job.nonce)
    for state in ("cancelled", "failed"):
        keep(job.folder / "result.json", {"state": state})
        told = visitor.get(f"/d/small/job/{job.nonce}").text
        assert "Nothing was written" not in told and "small/releases/1 had been written already" in told
        assert "Yes." in told
    keep(job.folder / "request.json", job.request | {"arguments": job.arguments | {"out": "small/no"}})
    assert "Nothing was written." in visitor.get(f"/d/small/job/{job.nonce}").text
    keep(job.folder / "request.json", job.request | {"kind": "evaluate"})
    assert "the account remembers the look" in visitor.get(f"/d/small/job/{job.nonce}").text


def test_a_refusal_that_counts_rows_is_confidential(tmp_path):
    own, visitor = small(tmp_path), Visitor(tmp_path)
    planned(visitor)
    nonce = nonce_in(visitor.get("/d/small/release"))
    own.path("rows.csv").write_text("sex,age,<script>alert(1)</script>\nX,3,yes\n")
    refused = visitor.post("/d/small/release", {"nonce": nonce, "confirm": "small"}, came_from="/d/small/release")
    assert refused.status_code == 303 and "has changed since this screen" in visitor.get("/d/small/release").text
    nonce = nonce_in(visitor.get("/d/small/release"))
    visitor.post("/d/small/release", {"nonce": nonce, "confirm": "small"})
    ended(own, nonce, JobState.REFUSED)
    told = visitor.get(f"/d/small/job/{nonce}").text
    assert "(1 rows)" in told and 'class="audience confidential"' in told


def test_a_report_reads_the_data_as_the_codebook_says(tmp_path):
    """Blanks behind values, or codes for missing: the codebook of the release knows its own rows only."""
    own, visitor = small(tmp_path), Visitor(tmp_path)
    rows = own.path("rows.csv")
    rows.write_text(rows.read_text().replace("F,", "F  ,").replace("M,", "M  ,"))
    reading = 'levels = ["F", "M"]\n\n[columns.reading]\nstrip = true'
    own.codebook.write_text(own.codebook.read_text().replace('levels = ["F", "M"]', reading))
    tables.synthesize(rows, own.codebook, 40, epsilon=1.0, delta=1e-6, out=private(own), method="marginals")
    visitor.done("/d/small/report/board", {"limit-share_error": "0.05", "by": "Data access board"})
    shown = visitor.get("/d/small/report")
    assert "--codebook small/codebook.toml" in shown.text and "book=&#34;small/codebook.toml&#34;" in shown.text
    visitor.post("/d/small/report/1", {"nonce": nonce_in(shown), "risk": "none"})
    ended(own, nonce_in(shown))
    assert "Data access board" in visitor.get("/d/small/report/1/page").text
    own.codebook.write_text(own.codebook.read_text().replace("[0, 18, 65, 120]", "[0, 30, 120]"))
    assert "--codebook" not in visitor.get("/d/small/report").text, "edited since: it is about another release"


def test_one_report_at_a_time(tmp_path):
    """A report can take long: whoever comes back to the screen is led to it and starts no second one."""
    own, visitor = small(tmp_path), Visitor(tmp_path)
    tables.synthesize(
        own.path("rows.csv"), own.codebook, 40, epsilon=1.0, delta=1e-6, out=private(own), method="marginals"
    )
    visitor.done("/d/small/report/board", {"limit-share_error": "0.05", "by": "Data access board"})
    nonce = nonce_in(visitor.get("/d/small/report"))
    folder = tmp_path / jobs.FOLDER / ("1" * 32)
    folder.mkdir(parents=True)
    keep(folder / jobs.REQUEST, {"kind": "evaluate", "about": "small", "arguments": {}})
    with (folder / jobs.LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as the process that works holds it
        shown = visitor.get("/d/small/report").text
        assert "A report is being made right now" in shown and 'name="nonce"' not in shown
        for sent in (nonce, "2" * 32):
            answer = visitor.post("/d/small/report/1", {"nonce": sent, "risk": "none"})
            assert answer.headers["location"] == f"/d/small/job/{'1' * 32}"
    assert len(jobs.all_jobs(tmp_path)) == 1
    assert nonce_in(visitor.get("/d/small/report")) != nonce


def test_limits_stand_once_somebody_has_looked_whatever_became_of_the_page(tmp_path):
    own, visitor = small(tmp_path), Visitor(tmp_path)
    planned(visitor)
    tables.synthesize(
        own.path("rows.csv"), own.codebook, 40, epsilon=0.5, delta=1e-6, out=private(own), account=own.account
    )
    visitor.done("/d/small/report/board", {"limit-share_error": "0.05", "by": "Board"})
    assert "Change them" in visitor.get("/d/small/report").text
    releases.open_account(own.account).look("evaluation of small/releases/1")
    shown = visitor.get("/d/small/report").text
    assert "Change them" not in shown and "They stand" in shown
    visitor.post("/d/small/report/board", {"limit-share_error": "0.5", "by": "B"}, came_from="/d/small/report")
    assert "its limits stand" in visitor.get("/d/small/report").text


def test_no_other_screen_opens_a_report_before_its_limits(tmp_path):
    own, visitor = small(tmp_path), Visitor(tmp_path)
    own.reports.mkdir()
    own.path("reports", "1.html").write_text("<!-- understudy page, made from confidential data --><p>secret</p>")
    assert "1.html" not in visitor.get("/d/small/others").text
    answer = visitor.get("/d/small/others/page?file=reports/1.html")
    assert answer.status_code == 422 and "secret" not in answer.text


def test_a_look_that_nobody_remembers_is_called_so(tmp_path):
    small(tmp_path)
    visitor = Visitor(tmp_path)
    assert "nobody remembers it" in visitor.get("/d/small/anonymise").text
    planned(visitor)
    assert "the account remembers it" in visitor.get("/d/small/anonymise").text


def test_the_commands_name_the_table_of_a_database(tmp_path, monkeypatch):
    import duckdb

    own = small(tmp_path)
    with duckdb.connect(str(tmp_path / "study.duckdb")) as connection:
        connection.execute(f"CREATE TABLE \"a b\" AS FROM read_csv('{own.path('rows.csv')}')")
        connection.execute("CREATE TABLE other AS SELECT 1 AS x")
    own.declare(data="../study.duckdb", table="a b")
    visitor = Visitor(tmp_path)
    planned(visitor)
    for screen in ("release", "report", "anonymise", "others"):
        text = html.unescape(visitor.get(f"/d/small/{screen}").text)
        command = next(line for line in text.splitlines() if "study.duckdb" in line and "understudy " in line)
        assert "--table 'a b'" in command and "table='a b'" in text, screen


def test_prices_in_an_address_survive_any_word(tmp_path):
    small(tmp_path)
    visitor = Visitor(tmp_path)
    for method in ("a%0d%0aSet-Cookie:x=1", "%E2%82%AC", "a%26epsilon=9"):
        answer = visitor.get(f"/d/small/quote/price?method={method}&rows=60")
        assert answer.status_code == 200 and "There is no price for this" in answer.text, method
