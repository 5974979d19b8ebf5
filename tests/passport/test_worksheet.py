"""The worksheet of a disclosure review: facts filled in, judgements open, never in a release."""

import stat

import pytest
from passport_releases import BOOK, STAYS, TABLES

import understudy as us
from understudy.codebook import Codebook
from understudy.errors import ReleaseError

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return TABLES["parquet_only"](tmp_path_factory.mktemp("worksheet") / "r")


def test_facts_are_filled_in_and_judgements_are_not(place, tmp_path) -> None:
    findings = us.evaluate(STAYS, place, worksheet=tmp_path / "w.md")
    text = (tmp_path / "w.md").read_text(encoding="utf-8")
    assert stat.S_IMODE((tmp_path / "w.md").stat().st_mode) == 0o600
    assert text.count("Judgement (to be filled in by people)") == 4
    assert "[x]" not in text.lower()
    assert findings.release is not None and findings.release.statement.split(". ")[0] in text
    for heading in ("Singling out", "Linkability", "Inference", "45 CFR 164.514(b)(1)", "Confidential."):
        assert heading in text
    for one in findings.risk:
        assert one.metric.title in text
    assert "Not measured: Singling out, Distance to the closest record, Membership inference." in text
    for column in BOOK.released:
        assert f"| {column.role.value} | {column.size} |" in text


def test_undeclared_roles_are_said(tmp_path) -> None:
    from dataclasses import replace

    from understudy.codebook import Role

    book = Codebook(columns=tuple(replace(column, role=Role.OTHER) for column in BOOK.columns))
    us.synthesize(STAYS, book, 40, epsilon=1.0, delta=1e-6, out=tmp_path / "r")
    us.evaluate(STAYS, tmp_path / "r", worksheet=tmp_path / "w.md")
    text = (tmp_path / "w.md").read_text(encoding="utf-8")
    assert "Declared as quasi-identifier: no column" in text
    assert "no quasi-identifier is declared" in text


def test_it_is_never_written_into_a_release_nor_over_judgements(place, tmp_path) -> None:
    before = sorted(path.name for path in place.iterdir())
    (place.parent / "filled.md").write_text("Judged.", encoding="utf-8")
    for target, words in (
        (place / "w.md", "belongs to a release"),
        (place.parent / "filled.md", "may hold judgements"),
    ):
        with pytest.raises(ReleaseError, match=words):
            us.evaluate(STAYS, place, worksheet=target, out=tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
    assert sorted(path.name for path in place.iterdir()) == before
    with pytest.raises(ReleaseError, match="nothing can be written"):
        us.evaluate(STAYS, place, worksheet=tmp_path / "nowhere" / "w.md")
