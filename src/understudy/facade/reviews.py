"""Review a codebook beside its data, and declare rules. What is seen is the holder's; the codebook gets the answers."""

from __future__ import annotations

import datetime as dt
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.confidential import Confidential
from understudy.errors import CodebookError, ParameterError, listed
from understudy.facade.documented import documented

if TYPE_CHECKING:
    from understudy.codebook import Attestation, Codebook, LinkedCodebook, Rule
    from understudy.codebook.rule_packs import PackMatch
    from understudy.evaluate.dependencies import Proposal
    from understudy.privacy.account import Account
    from understudy.sources.base import Report
    from understudy.sources.review import Question


@dataclass(frozen=True, kw_only=True, repr=False)
class Reviewed(Confidential):
    """The questions of a review, and the codebook with the answers. The questions quote confidential values."""

    questions: tuple[Question, ...]
    codebook: Codebook | LinkedCodebook
    unreviewed: tuple[str, ...]
    """Columns that nobody has answered about, as they stand now."""
    reviewed: tuple[str, ...]
    """Columns that somebody has answered about."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for a screen of the holder."""
        return {"questions": list(self.questions), "unreviewed": list(self.unreviewed)}


@documented
def review(
    book: str | Path,
    data: Any,
    *,
    answers: Mapping[str, Any] | str | Path | Callable[[Sequence[Question]], Mapping[str, Any]] | None = None,
    by: str | None = None,
    table: str | None = None,
    report: Report | None = None,
) -> Reviewed:
    """Go through a codebook beside the data it describes: what looks dangerous in every column, as questions.

    What was seen is for the holder's screen. The codebook keeps the answers and who gave them.

    Parameters
    ----------
    book
        Codebook file; answers are written into it.
    answers
        A table, or the path of a TOML or JSON file: ``person`` ("no", or the id column and a cap), ``panels`` (an
        answer for each panel of columns) and ``columns`` (answers for single columns, which win); or a function that
        makes such a table of the questions. Without answers nothing is written.
    by
        Who answers.

    Returns
    -------
    Reviewed
        ``.questions``, ``.codebook`` and ``.unreviewed``.
    """
    from understudy.codebook.answers import check_panels, read_answers, reviewed_book
    from understudy.codebook.edits import edited_text
    from understudy.facade.linked_reviews import linked_file, review_tables
    from understudy.sources.review import look_at_columns, questions

    if linked_file(book):
        return review_tables(book, data, answers=answers, by=by, table=table, report=report)
    text, codebook = read_book(book)
    plain = answers if answers is None or callable(answers) else plain_answers(answers, by, codebook)
    looked = look_at_columns(data, codebook, table=table)
    asked = questions(codebook, looked, tied_columns(data, codebook, table, report))
    if plain is not None:
        given = read_answers(plain(asked) if callable(plain) else plain, by, codebook=codebook)
        check_panels(given, [question.id for question in asked if question.columns])
        codebook = reviewed_book(
            codebook,
            given,
            panel_of={name: question.id for question in asked for name in question.columns},
            suggested={name: own for question in asked for name, own in question.suggested.items()},
            levels_of={name: [v for v, _ in seen.values] for name, seen in looked.items() if seen.is_complete},
            on=today(),
        )
        write_book(book, edited_text(text, codebook))
    left = tuple(column.name for column in codebook.written if not column.is_reviewed)
    done = tuple(column.name for column in codebook.written if column.is_reviewed)
    return Reviewed(questions=tuple(asked), codebook=codebook, unreviewed=left, reviewed=done)


def tied_columns(data: Any, book: Codebook, table: str | None, report: Report | None) -> dict[str, list[str]]:
    """What the columns have to do with each other, in a sentence for each of two."""
    from understudy.evaluate.dependencies import propose_rules
    from understudy.sources import open_source
    from understudy.sources.review import tie_sentence

    sentences: dict[str, list[str]] = {}
    for proposal in propose_rules(open_source(data, replace(book, unit=None), table=table), report=report):
        if proposal.form in ("fixes", "never both present"):
            other = None if proposal.needs_map else proposal.rule.columns[1]
            told = tie_sentence(proposal.words, proposal.support, never_with=other)
            sentences.setdefault(proposal.rule.columns[0], []).append(told)
    return sentences


def plain_answers(answers: Mapping[str, Any] | str | Path, by: str | None, codebook: Codebook | None) -> Any:
    """Answers as plain data; mistakes in those about one ``codebook`` are told before the data are read."""
    from understudy.codebook.answers import read_answers
    from understudy.loading import loading

    with loading(answers, "the answers", remedy="check the path, and give TOML or JSON.", error=ParameterError):
        plain = answers
        if isinstance(answers, str | Path):
            text = Path(answers).read_text(encoding="utf-8-sig")
            plain = json.loads(text) if Path(answers).suffix.lower() == ".json" else tomllib.loads(text)
        if codebook is not None:
            read_answers(plain, by, codebook=codebook)
    return plain


@dataclass(frozen=True, kw_only=True, repr=False)
class Rules(Confidential):
    """Rules that were proposed, and what was written into the codebook. Proposals are read from confidential data."""

    codebook: Codebook | LinkedCodebook
    proposals: tuple[Proposal, ...]
    packs: tuple[PackMatch, ...]
    """Packs of public rules that fit the columns by their names, or that were asked for."""
    added: tuple[Rule, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for a screen of the holder."""
        return {
            "proposals": [
                {
                    "id": proposal.id,
                    "form": proposal.form,
                    "words": proposal.words,
                    "columns": list(proposal.rule.columns),
                    "support": proposal.support,
                    "exceptions": proposal.exceptions,
                    "expected_without_it": round(proposal.expected, 1),
                    "needs_map": proposal.needs_map,
                    "if_wrong": proposal.if_wrong,
                }
                for proposal in self.proposals
            ],
            "packs": [
                {
                    "name": match.pack.name,
                    "title": match.pack.title,
                    "source": match.pack.source,
                    "columns": {meaning: list(names) for meaning, names in match.columns.items()},
                    "rules": [rule.words() for rule in match.rules],
                    "notes": list(match.notes),
                }
                for match in self.packs
            ],
            "added": [rule.title for rule in self.added],
            "without_source": list(self.codebook.unsourced_rules),
            "notes": list(self.notes),
        }


@documented
def rules(
    book: str | Path,
    data: Any = None,
    *,
    accept: Sequence[str] = (),
    maps: Mapping[tuple[str, str], str | Path] | None = None,
    packs: Sequence[str] = (),
    columns: Mapping[str, Sequence[str]] | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    by: str | None = None,
    source: str | None = None,
    table: str | None = None,
    unknown: str = "error",
    report: Report | None = None,
) -> Rules:
    """Propose rules that the data keep, and write those into the codebook that a person declares.

    Parameters
    ----------
    book
        Codebook file.
    data
        The confidential table, to propose rules from. Packs and maps need no data.
    accept
        Ids of proposals. With ``by`` and ``source`` they are declared public; without, releases have no formal
        guarantee.
    maps
        Public tables for columns that fix others: ``{("facility", "county"): "facilities.csv"}``; columns of linked
        tables are spelled ``table.column``.
    packs
        Packs of public rules: ``deaths``, ``newborns``, ``pregnancy``, ``sex_and_diagnoses``.
    columns, levels
        Which columns and levels a pack means: ``{"sex": ["gender"]}``, ``{"died": ["11", "19"]}``.
    by, source
        Who declares the rules, and where they are publicly known from.

    Returns
    -------
    Rules
        ``.proposals``, ``.packs``, ``.added`` and ``.codebook``.
    """
    from understudy.codebook.edits import edited_text
    from understudy.codebook.rule_packs import match_pack, proposed_packs
    from understudy.facade.linked_reviews import linked_file, rules_of_tables

    if linked_file(book):
        given = {"packs": packs, "columns": columns, "levels": levels, "table": table}
        return rules_of_tables(
            book, data, accept=accept, maps=maps or {}, by=by, source=source, given=given, report=report
        )
    text, codebook = read_book(book)
    if (columns or levels) and not packs:
        raise ParameterError("`columns` and `levels` belong to a pack; name it, such as packs=['pregnancy'].")
    if accept and data is None:
        raise ParameterError("`accept` names proposals, which are read from the data; give `data` too.")
    word = attestation(by, source)
    mapped = mapped_rules(codebook, maps or {}, word, confidential=(data,))
    matches = [match_pack(codebook, name, columns, levels) for name in packs]
    added: list[Rule] = list(mapped)
    for match in matches:
        if not match.rules:
            named = ", ".join(f"{name} has {value}" for (name, value), own in match.levels.items() if not own)
            raise ParameterError(
                f"the pack {match.pack.name!r} finds no level it means (none of {named or 'these'}); name levels with "
                "--level VALUE=LEVEL,LEVEL."
            )
        added += match.rules
    is_asked = data is not None and (accept or not added)
    proposals = _proposals(data, codebook, table, unknown, report) if is_asked else ()
    added += accepted_rules(proposals, accept, word)
    present = {rule.content for rule in codebook.constraints}
    added = [rule for rule in added if rule.content not in present]
    if added:
        codebook = replace(codebook, constraints=(*without_maps(codebook.constraints, added), *added))
        write_book(book, edited_text(text, codebook))
    notes = [note for match in matches for note in match.notes]
    notes += [
        f"the map of {title!r} was read from the data: releases have no formal guarantee until it comes from a public "
        "table (--map) or is paid for (--learn)."
        for title in (rule.title for rule in added if rule.kind == "determines" and rule.attestation is None)
    ]
    return Rules(
        codebook=codebook,
        proposals=tuple(proposals),
        packs=tuple(matches or proposed_packs(codebook)),
        added=tuple(added),
        notes=tuple(notes),
    )


def mapped_rules(
    codebook: Codebook | LinkedCodebook,
    maps: Mapping[tuple[str, str], str | Path],
    word: Attestation | None,
    *,
    confidential: Sequence[Any],
) -> list[Rule]:
    """Rules by which one column fixes another, as public tables say; the confidential ones are refused as such."""
    from understudy.codebook.maps import mapped_rule, read_map
    from understudy.sources.inputs import refuse_as_rule

    if maps and word is None:
        raise ParameterError("a map needs `by` and `source`: who declares it, and where the table was published.")
    rules: list[Rule] = []
    for (first, second), path in maps.items():
        assert word is not None
        for data in confidential:
            refuse_as_rule(path, f"map of {first!r}", confidential=data)
        rules.append(mapped_rule(codebook, first, second, read_map(path), word))
    return rules


def without_maps(rules: Sequence[Rule], added: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules without maps between the same columns as those that are added, which replace them."""
    mapped = {rule.columns for rule in added if rule.kind == "determines"}
    return tuple(rule for rule in rules if rule.columns not in mapped or rule.kind != "determines")


def accepted_rules(proposals: Sequence[Proposal], names: Sequence[str], word: Attestation | None) -> list[Rule]:
    """The proposals of these names, attested by ``word``; a map that was read from the data never is."""
    known = {proposal.id: proposal for proposal in proposals}
    rules: list[Rule] = []
    for name in names:
        if name not in known:
            raise ParameterError(
                f"there is no proposal {name!r}; there are {listed(known) or 'none'}. They change with data and "
                "codebook."
            )
        rule = known[name].rule
        is_vouched = word is not None and not known[name].needs_map
        rules.append(replace(rule, attestation=replace(word, of=rule.content)) if word and is_vouched else rule)
    return rules


def attestation(by: str | None, source: str | None) -> Attestation | None:
    """The word of a person, given today; None where nobody gives it."""
    from understudy.codebook.declare import attestation_of

    if (by is None) != (source is None):
        raise ParameterError("`by` and `source` go together: who says it, and where it is publicly known from.")
    return None if by is None or source is None else attestation_of(by, source, today())


def _proposals(
    data: Any, book: Codebook, table: str | None, unknown: str, report: Report | None
) -> tuple[Proposal, ...]:
    from understudy.evaluate.dependencies import propose_rules
    from understudy.sources import open_source
    from understudy.sources.files import open_table

    source = open_source(data, replace(book, unit=None), table=table, unknown=unknown)
    return tuple(propose_rules(source, opened=open_table(data, table, file=book.file), report=report))


@documented
def learn_rules(
    book: str | Path,
    data: Any,
    pairs: Sequence[tuple[str, str]],
    *,
    out: str | Path,
    epsilon: float | None = None,
    delta: float | None = None,
    rest: str = "never",
    account: Account | str | Path | None = None,
    table: str | None = None,
    unknown: str = "error",
) -> Rules:
    """Learn rules about pairs of columns from the data at a price, for releases with a formal total.

    Parameters
    ----------
    book
        Codebook file.
    pairs
        Columns to look at together, chosen without looking at the data: ``[("facility", "county")]``.
    out
        New codebook file; the price is committed just before it appears.
    epsilon, delta
        Price of all pairs together, for a person where the codebook has a unit.
    rest
        Levels of a map whose value does not show: ``never`` (no synthetic row has them) or ``free``.
    account
        Charged for it.

    Returns
    -------
    Rules
        ``.added`` and ``.codebook``.
    """
    from understudy.privacy.account import account_at
    from understudy.synth.paid_rules import RulePlan, paid_rules

    text, _ = read_book(book)
    if epsilon is None or delta is None:
        raise ParameterError("priced rules need `epsilon` and `delta`; there is no default for privacy.")
    plan = RulePlan(epsilon=epsilon, delta=delta, pairs=tuple((a, b) for a, b in pairs), rest=rest)
    codebook, added = paid_rules(
        data, text, plan, out=Path(out), table=table, unknown=unknown, account=account_at(account)
    )
    return Rules(codebook=codebook, proposals=(), packs=(), added=added, notes=())


def read_book(book: str | Path) -> tuple[str, Codebook]:
    """The file of a codebook as text, and what it says; every fault is reported before it is touched."""
    from understudy.codebook import Codebook
    from understudy.codebook.book import read_text
    from understudy.facade.codebooks import load_linked

    if not isinstance(book, str | Path):
        raise ParameterError(f"`book` is a {type(book).__name__}; name the file of a codebook, because it is changed.")
    if load_linked(book) is not None:
        raise CodebookError(
            f"the codebook {str(book)!r} describes linked tables, and this is about one table. Rules across them are "
            "proposed by `understudy codebook rules`, or written as [[rules]] by hand."
        )
    codebook = Codebook.load(book)
    return read_text(book), codebook


def write_book(book: str | Path, text: str) -> None:
    """Replace the file of a codebook, all or nothing."""
    from understudy.files import write_file

    place = Path(book)
    try:
        write_file(place, text)
    except OSError as reason:
        raise CodebookError(f"the codebook {str(place)!r} cannot be written ({reason.strerror}).") from None


def today() -> dt.date:
    """The day of an answer or attestation."""
    return dt.datetime.now(dt.UTC).date()
