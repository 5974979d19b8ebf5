"""The page of a risk score: made of the file alone, public, checked by `verify`."""

import pytest

import understudy as us
from understudy.errors import ReleaseError
from understudy.trees.page import score_page, score_page_path


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scores")
    book, table = us.datasets.discharges_codebook(), us.datasets.discharges(rows=600, seed=3)
    us.train(table, book, "cat", epsilon=2.0, delta=1e-6, quality_epsilon=1.0, out=folder / "free.us", name="free")
    us.train(
        table, book, "cat", "per-call-tree", epsilon=2.0, call_epsilon=1.0, out=folder / "call.us", new_key=folder / "k"
    )
    return folder


@pytest.mark.parametrize("name", ["free.us", "call.us"])
def test_every_score_has_a_page_that_is_made_of_its_file_alone(shop, name):
    page = score_page_path(shop / name)
    assert page.read_text() == score_page(shop / name)
    verdict = us.verify(shop / name)
    assert verdict.is_valid
    assert any("its page states this promise" in line for line in verdict.passed)


def test_it_says_what_was_promised_asked_measured_and_paid(shop):
    page = score_page(shop / "free.us")
    for words in ("epsilon 3", "Putting people in order of risk", "What each value adds", "answers", "AUROC"):
        assert words in page
    sealed = score_page(shop / "call.us")
    assert "Every new question costs epsilon 1" in sealed
    assert "none was measured" in sealed
    assert "What each value adds" not in sealed


def test_other_names_for_both_files_change_nothing(shop, tmp_path):
    (tmp_path / "other.us").write_bytes((shop / "free.us").read_bytes())
    assert us.verify(tmp_path / "other.us").is_valid  # a file may travel alone
    (tmp_path / "other.us.html").write_bytes((shop / "free.us.html").read_bytes())
    assert us.verify(tmp_path / "other.us").is_valid


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("</body>", "<script>1</script></body>", "could run or load"),
        ("What it asks and answers", "What it asks", "is not the page that this release makes"),
        ("differentially private", "wholly private", "does not state the promise"),
    ],
)
def test_a_page_that_says_something_else_is_found(shop, tmp_path, old, new, fault):
    (tmp_path / "m.us").write_bytes((shop / "free.us").read_bytes())
    text = (shop / "free.us.html").read_text()
    assert old in text
    (tmp_path / "m.us.html").write_text(text.replace(old, new))
    verdict = us.verify(tmp_path / "m.us")
    assert not verdict.is_valid
    assert any(fault in problem for problem in verdict.problems)


def test_a_page_that_is_there_stops_the_training_before_it_is_paid(tmp_path):
    (tmp_path / "m.us.html").write_text("mine")
    account = us.Account.create(
        tmp_path / "account.json", dataset="d", epsilon=5.0, delta=1e-5, neighbours="add-remove"
    )
    with pytest.raises(ReleaseError, match=r"m\.us\.html"):
        us.train(
            us.datasets.discharges(rows=100, seed=3),
            us.datasets.discharges_codebook(),
            "cat",
            epsilon=1.0,
            delta=1e-6,
            out=tmp_path / "m.us",
            account=account,
        )
    assert not (tmp_path / "m.us").exists()
    assert us.Account.open(tmp_path / "account.json").spent().epsilon == 0
