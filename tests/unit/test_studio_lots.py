"""The button that keeps people back by lot: before anything is released or paid for, and beside nothing else."""

import time

import pyarrow.parquet as pq
import pytest
from studio_visitor import Visitor
from test_studio_paying import BOOK, ended, nonce_in, planned, small

from understudy.facade import book_edits, releases, tables
from understudy.studio import lots
from understudy.studio.kept import keep
from understudy.studio.looking import look
from understudy.studio.looks import find_look
from understudy.studio.workspace import Root, write_private

HERE = "/d/small/data"


@pytest.fixture
def own(tmp_path):
    """Three columns, and one that tells people apart: two rows of each."""
    made = small(tmp_path)
    rows = made.path("rows.csv").read_text().splitlines()
    ids = ["id", *(str(number // 2) for number in range(len(rows) - 1))]
    made.path("rows.csv").write_text("\n".join(f"{id_},{row}" for id_, row in zip(ids, rows, strict=True)) + "\n")
    made.codebook.write_text(BOOK + '\n[[columns]]\nname = "id"\nkind = "text"\nrole = "identifier"\n')
    book_edits.set_person(made.codebook, "id", 2)
    return made


def anew(own):
    return Root.at(own.root.folder).dataset(own.name)


def drawn(visitor, share="30"):
    shown = visitor.done(f"{HERE}/lot", {"share": share})
    visitor.wait("small")
    return shown


def ids_in(place):
    return set(pq.read_table(place)["id"].to_pylist())


def test_people_are_kept_back_and_the_release_is_of_the_others(own):
    """From the button to a report that compares with people outside, as the screens lead there."""
    visitor = Visitor(own.root.folder)
    assert "Keep people back by lot" in visitor.get(HERE).text
    assert "The lot is being drawn" in drawn(visitor).text
    now = anew(own)
    assert (now.declared["data"], now.declared["holdout"]) == ("for-releases.parquet", "kept-back.parquet")
    assert find_look(now, lots.LOOK).problem == "" and find_look(now, "rows").seen is not None
    stay, go = ids_in(now.data), ids_in(now.holdout)
    assert stay and go and not stay & go and len(stay | go) == 100
    assert {own.path(name).stat().st_mode & 0o777 for name in ("for-releases.parquet", "kept-back.parquet")} == {0o600}
    text = visitor.get(HERE).text
    assert "Keep people back by lot" not in text
    assert "The lot was drawn." in text and "<code>small/kept-back.parquet</code>" in text
    visitor.done("/d/small/quote/account", {"epsilon": "3", "delta": "1e-5", "neighbours": "add-remove-person"})
    plan = {"epsilon": "1", "delta": "1e-6", "rows": "60", "rows_about": "100", "method": "marginals"}
    visitor.done("/d/small/quote", plan)
    page = visitor.get("/d/small/release")
    assert "No real records were kept back" not in page.text
    nonce = nonce_in(page)
    visitor.post("/d/small/release", {"nonce": nonce, "confirm": "small"})
    assert ended(now, nonce).arguments["data"] == "small/for-releases.parquet"
    visitor.done("/d/small/report/board", {"by": "Board"})
    page = visitor.get("/d/small/report")
    assert "Records that were kept back are used" in page.text
    visitor.post("/d/small/report/1", {"nonce": nonce_in(page), "risk": "quick"})
    ended(now, nonce_in(page))
    report = (now.reports / "1.html").read_text()
    assert "kept back" in report or "held out" in report


def test_columns_are_looked_at_again_where_somebody_had_looked(own):
    assert look(own, "columns")
    assert sum(find_look(own, "columns").seen["counts"]["sex"]) == 200
    visitor = Visitor(own.root.folder)
    drawn(visitor)
    seen = find_look(anew(own), "columns")
    assert not seen.is_stale and sum(seen.seen["counts"]["sex"]) == pq.read_metadata(anew(own).data).num_rows < 200


@pytest.mark.parametrize("share", ["0", "51", "a few", "", "2.5"])
def test_a_share_that_is_none_is_told_beside_its_field(own, share):
    visitor = Visitor(own.root.folder)
    refused = visitor.post(f"{HERE}/lot", {"share": share}, came_from=HERE)
    assert refused.status_code == 303 and "must be a whole number from 1 to 50" in visitor.get(HERE).text
    assert anew(own).holdout is None and not own.path("kept-back.parquet").exists()


def refused(visitor, sentence):
    """Neither offered nor done."""
    text = visitor.get(HERE).text
    assert "Keep people back by lot" not in text
    answer = visitor.post(f"{HERE}/lot", {"share": "20"}, came_from=HERE)
    assert answer.status_code == 303 and sentence in visitor.get(HERE).text


def test_who_took_part_in_a_release_is_not_kept_back(own):
    given = {"epsilon": 0.5, "delta": 1e-6, "method": "marginals"}
    own.releases.mkdir()
    tables.synthesize(own.path("rows.csv"), own.codebook, 20, **given, out=own.releases / "1")
    refused(Visitor(own.root.folder), "nobody of them can be kept back any more")


def test_who_was_paid_for_by_a_command_is_not_kept_back(own):
    person = "add-remove-person"
    releases.create_account(own.account, dataset="Small", epsilon=3, delta=1e-5, neighbours=person)
    given = {"epsilon": 0.5, "delta": 1e-6, "method": "marginals", "account": own.account}
    tables.synthesize(own.path("rows.csv"), own.codebook, 20, **given)
    refused(Visitor(own.root.folder), "nobody of them can be kept back any more")


def test_an_account_that_cannot_be_read_may_hold_any_charge(own):
    own.account.write_text("{}")
    assert lots.obstacle(own) == "released"


def test_a_release_that_is_made_while_the_lot_is_drawn_undoes_the_lot(own, monkeypatch):
    """A command knows nothing of the studio; what it released was made of everybody."""
    real = lots.places_of

    def places(which):
        own.releases.mkdir()
        (own.releases / "1").mkdir()
        return real(which)

    monkeypatch.setattr(lots, "places_of", places)
    own.looks.mkdir()
    keep(own.looks / "divided.given", {"share": 0.3})
    assert not look(own, lots.LOOK)
    assert "nobody of them can be kept back any more" in find_look(own, lots.LOOK).problem
    assert anew(own).holdout is None and not list(own.folder.glob("*.parquet"))
    assert "nobody of them can be kept back any more" in Visitor(own.root.folder).get(HERE).text


def test_nothing_is_paid_and_no_other_data_are_named_while_the_lot_is_drawn(tmp_path):
    own, visitor = small(tmp_path), Visitor(tmp_path)
    planned(visitor)
    nonce = nonce_in(visitor.get("/d/small/release"))
    own.looks.mkdir(exist_ok=True)
    write_private(own.looks / "divided.running", f"0 {time.time():.0f}")
    forms = {
        "release": {"nonce": nonce, "confirm": "small"},
        "anonymise": {"nonce": "a" * 32, "k": "2", "suppression": "0.1", "quasi": "sex"},
        "data/reading": {"delimiter": ";"},
        "data/holdout": {"holdout": ""},
    }
    before = own.path("dataset.toml").read_text()
    for path, fields in forms.items():
        answer = visitor.post(f"/d/small/{path}", fields, came_from=HERE)
        assert answer.status_code == 303 and "being drawn by lot" in visitor.get(HERE).text, path
    assert own.path("dataset.toml").read_text() == before
    assert releases.open_account(own.account).history() == [] and not own.releases.exists()


def test_what_somebody_put_there_stays_and_the_lot_takes_other_names(own):
    own.path("kept-back.parquet").write_text("dear")
    drawn(Visitor(own.root.folder))
    now = anew(own)
    assert own.path("kept-back.parquet").read_text() == "dear"
    assert (now.declared["data"], now.declared["holdout"]) == ("for-releases-2.parquet", "kept-back-2.parquet")


def test_the_screen_says_why_there_is_no_lot(tmp_path):
    own = small(tmp_path)
    own.codebook.unlink()
    assert "as soon as there is a codebook" in Visitor(tmp_path).get(HERE).text
