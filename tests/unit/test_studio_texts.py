"""All words of the screens come from files of texts: every text is marked, and what a screen shows besides is known.

Known are values (names, levels, numbers, commands) and sentences that belong to a release or to another use case and
are told alike on the command line: promises, forecasts, checks, methods, limits of a board, rules.
"""

import re
import tomllib
from html import unescape

import pytest
from studio_visitor import Visitor
from test_studio_paying import checked, handed_out, private, small

import understudy.texts as shared
from understudy.facade import boards, methods, outlooks, releases, tables
from understudy.facade.book_edits import code_packs
from understudy.studio import frame, plans
from understudy.studio.looking import look
from understudy.studio.stored_books import load_book

OPEN, SHUT = "\u27e6", "\u27e7"
SCREENS = (
    "/", "/new", "/d/small/data", "/d/small/codebook", "/d/small/codebook/column/0", "/d/small/codebook/column/1",
    "/d/small/codebook/review", "/d/small/codebook/rules", "/d/small/codebook/attest", "/d/small/codebook/difference",
    "/d/small/quote", "/d/small/quote/price?epsilon=1.2", "/d/small/release", "/d/small/report", "/d/small/publish",
    "/d/small/anonymise", "/d/small/others", "/d/nobody/data", "/nowhere",
)  # fmt: skip


def marked(value):
    if isinstance(value, dict):
        return {key: marked(own) for key, own in value.items()}
    if isinstance(value, list):
        return [marked(own) for own in value]
    return f"{OPEN}{value}{SHUT}" if isinstance(value, str) else value


@pytest.fixture
def marks(monkeypatch):
    """Every text of every file in brackets; what was read before is forgotten, and again afterwards."""
    caches = (shared.room_texts, frame.environment)
    plain = tomllib.loads
    monkeypatch.setattr(shared, "tomllib", type("Marked", (), {"loads": staticmethod(lambda t: marked(plain(t)))}))
    for kept in caches:
        kept.cache_clear()
    yield
    monkeypatch.undo()
    for kept in caches:
        kept.cache_clear()


def strange_words(page, known):
    """What stands on a page outside of brackets, apart from code, answers and known sentences."""
    page = re.sub(r"<(pre|code|blockquote|script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    page = re.sub(r'\b(?:aria-label|placeholder)="([^"]*)"', r">\1<x ", page)
    text = " ".join(unescape(re.sub(r"<[^>]*>", " | ", page)).split())
    while (shorter := re.sub(f"{OPEN}[^{OPEN}{SHUT}]*{SHUT}", " ", text)) != text:
        text = shorter
    for sentence in sorted(known, key=len, reverse=True):
        text = text.replace(" ".join(sentence.split()), " ")
    return [part for part in text.split("|") if len(re.findall(r"[^\W\d_]{2,}", part)) >= 4]


def known_sentences(own):
    """What other use cases say, as they say it."""
    plan = plans.asked_plan(own, {})
    quote = plans.offer(own, plan).quote
    lines = [line.removeprefix("- ") for line in quote.forecast.lines()]
    lines += [quote.statement, quote.shared or "", *quote.warnings]
    lines += [words for entry in quote.ledger.entries for words in (entry.stage, entry.reads)]
    lines += [words for fact in outlooks.odds(quote.total, whose="") for words in (fact.label, fact.value)]
    for recipe in methods.synthesis_methods().values():
        lines += [recipe.summary, recipe.facts.guarantee]
    lines += [words for _, what, _, source in boards.read_board().lines() for words in (what, source)]
    lines += [*code_packs().values()]
    return {frame.environment().filters["plain"](line.replace("`", "")) for line in lines if line} | set(lines)


def test_no_screen_has_words_of_its_own(tmp_path, marks):
    own = small(tmp_path)
    own.codebook.write_text(own.codebook.read_text().replace("edges", 'origin = "drafted"\nedges'))
    visitor = Visitor(tmp_path)
    for kind in ("rows", "columns", "rules"):
        assert look(own, kind)
    known = known_sentences(own)
    tables.quote(load_book(own), 10, epsilon=1.0, delta=1e-6)
    seen = {screen: strange_words(visitor.get(screen).text, known) for screen in SCREENS}
    out = private(own)
    tables.synthesize(own.path("rows.csv"), own.codebook, 40, epsilon=1.0, delta=1e-6, out=out, method="marginals")
    here = "/d/small/publish/1"
    seen[here] = strange_words(visitor.get(here).text, known)
    visitor.done(f"{here}/check")
    visitor.done(f"{here}/sign")
    verdict = releases.verify(own.releases / "1")
    known |= {words for words in (*verdict.passed, verdict.what) if words}
    for job in (checked(own), handed_out(own)):
        known |= {*job.result["told"]["passed"], job.result["told"]["what"]}
        for screen in (here, f"{here}/checked", f"{here}/taking", f"/d/small/job/{job.nonce}"):
            seen[screen] = strange_words(visitor.get(screen).text, known)
    assert {screen: words for screen, words in seen.items() if words} == {}


def test_the_test_sees_words_that_are_not_in_the_texts():
    assert strange_words(f"<p>{OPEN}one two three four{SHUT}</p><p>these are four words</p>", set()) == [
        " these are four words "
    ]
