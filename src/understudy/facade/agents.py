"""What a program that is not trusted may be told of a data set: prices, public codebooks, releases and paid answers.

Everything here says of itself whether it reads rows. Those functions that do are called by the shell in a phase whose
errors are never quoted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import CodebookError, ParameterError, RefusalError, ReleaseError, listed

if TYPE_CHECKING:
    from understudy.codebook import Codebook, Column
    from understudy.privacy.account import Account
    from understudy.privacy.provenance import Provenance
    from understudy.privacy.quote import Quote

PAID_UNKNOWN = "other-or-missing"
"""How rows are read behind a codebook of a priced draft: no value that the draft did not show makes an answer fail."""
_ADDING = ("add-remove", "add-remove-person")
_MOST_LEVELS = 200


def allowed_account(path: str | Path, *, name: str, epsilon: float, delta: float) -> Account:
    """The account, of which one spender may use so much; counted across restarts, because charges carry the name."""
    from understudy.privacy.account import Account, Allowance

    return Account.open(path).within(Allowance(name=name, epsilon=epsilon, delta=delta))


@dataclass(frozen=True, kw_only=True)
class Left:
    """What an allowance is and what is left of it; under a smaller rest of the account, that."""

    cap_epsilon: float
    cap_delta: float
    epsilon: float
    delta: float

    def to_dict(self) -> dict[str, float]:
        """As plain data."""
        return dict(vars(self))


def left_of(account: Account) -> Left:
    """What may still be charged."""
    allowance = account.allowance
    assert allowance is not None, "an account that is shown to others has an allowance"
    epsilon, delta = account.left()
    return Left(cap_epsilon=allowance.epsilon, cap_delta=allowance.delta, epsilon=epsilon, delta=delta)


def public_codebook(path: str | Path) -> Codebook:
    """A codebook that may be shown to anybody: declared, attested or paid for. Others are refused."""
    from understudy.facade.codebooks import load_codebook

    book = load_codebook(path)
    if not book.is_public:
        raise CodebookError(
            f"the codebook {str(path)!r} is not public: {book.why_not_public}. Whoever is shown it learns what was "
            "read from the data. Review and attest it first (`understudy codebook review`, `understudy codebook "
            "declare`)."
        )
    return book


def is_bought(account: Account, book: Codebook) -> bool:
    """Whether this account has paid for a priced draft, which is then one of its own data set."""
    from understudy.synth.paid_books import bought_codebook

    purchases = bought_codebook(book)
    return bool(purchases) and all(account.has_paid(purchase.name, purchase.ledger) for purchase in purchases)


def described_codebook(book: Codebook) -> list[dict[str, Any]]:
    """The columns of a public codebook, for somebody who will ask about them."""
    return [_described(book, column) for column in book.released]


def _described(book: Codebook, column: Column) -> dict[str, Any]:
    from understudy.codebook import Number

    facts: dict[str, Any] = {"name": column.name, "kind": type(column).__name__.lower()}
    if column.description:
        facts["description"] = column.description[:500]
    if isinstance(column, Number):
        facts["bounds"] = [float(column.edges[0]), float(column.edges[-1])]
    if column.is_modelled:
        labels = list(column.labels)
        facts["levels"] = [label[:200] for label in labels[:_MOST_LEVELS]]
        if len(labels) > _MOST_LEVELS:
            facts["more_levels"] = len(labels) - _MOST_LEVELS
        facts["can_be_asked"] = column.name in book.names
    return facts


def provenance_of(data: Any) -> Provenance:
    """What the confidential table is. A release is refused: its rows are no people."""
    from understudy.sources.inputs import find_provenance

    provenance = find_provenance(data)
    provenance.refuse_as_data("an answer")
    return provenance


def check_rows(data: Any, book: Codebook, *, unknown: str, table: str | None = None) -> None:
    """Refuse a table that does not fit its codebook: an answer that failed on a row would tell that it is there.

    Reads rows; what it raises is for the holder. Nothing that is counted is opened.
    """
    from understudy.sources import open_source

    open_source(data, book, unknown=unknown, table=table).count([book.names[:1]])


def header_of(data: Any, *, table: str | None = None) -> tuple[str, ...]:
    """The names in the header, of a table that has rows and is whole. Reads rows; what it raises is for the holder."""
    from understudy.sources.files import open_table

    opened = open_table(data, table)
    opened.verify()
    return tuple(name for name in opened.header if name)


def answer_quote(
    account: Account,
    book: Codebook,
    provenance: Provenance,
    question: str,
    *,
    epsilon: float,
    delta: float | None,
    level: float,
    target: str,
) -> Quote:
    """The price of an answer as it would be charged. Reads no row."""
    from understudy.facade.answers import quote_answer

    quote = quote_answer(
        book,
        question,
        epsilon=epsilon,
        delta=delta,
        level=level,
        target=target,
        neighbours=relation_of_account(account),
    ).with_data(provenance)
    return _chargeable(account, quote, "this answer")


def relation_of_account(account: Account) -> str:
    """The word for the relation in which answers are asked for; whether a person is meant, the codebook says."""
    return "add-remove" if account.neighbours.value in _ADDING else "replace-one"


def _chargeable(account: Account, quote: Quote, what: str) -> Quote:
    """Refuse what the account could never be charged, in words that name no figure of it."""
    if not quote.total.is_formal:
        raise RefusalError(f"{what} would carry no formal promise, so it has no price; nothing is sent without one.")
    if fault := account.relation_fault(quote.ledger):
        raise RefusalError(f"{what} {fault}")
    return quote


def owed_price(account: Account, quote: Quote) -> dict[str, float]:
    """What would be charged for it now: earlier purchases are charged once."""
    from understudy.privacy.transaction import still_owed

    owed: Any = still_owed(account, quote).total
    return {"epsilon": owed.epsilon, "delta": getattr(owed, "delta", 0.0)}


def is_covered(account: Account, quote: Quote) -> bool:
    """Whether the account and the allowance would pay this now; earlier purchases are charged once. Writes nothing."""
    from understudy.privacy.transaction import still_owed

    owed = still_owed(account, quote)
    return not account.refusal(owed.ledger, label=quote.method, delta=owed.delta)


def draft_quote(
    header: Sequence[str],
    provenance: Provenance,
    account: Account,
    *,
    epsilon: float,
    delta: float,
    bins: int,
    drop: Sequence[str],
    levels: Sequence[str],
    person: str | None,
    cap: int | None,
) -> tuple[Quote, list[str]]:
    """The price of a priced draft, and what its thresholds will do. Reads no row: the header is given."""
    from understudy.codebook import PersonUnit
    from understudy.synth.paid_draft import PaidPlan

    for name in (*drop, *levels):
        if name not in header:
            raise ParameterError(f"there is no column {name[:80]!r}; the table has {listed(header)}.")
    unit = None if person is None or cap is None else PersonUnit(id=person, cap=cap)
    plan = PaidPlan(
        epsilon=epsilon, delta=delta, bins=bins, drop=tuple(dict.fromkeys(drop)), named=tuple(levels), unit=unit
    )
    columns = [name for name in header if name not in plan.left_out]
    if not columns:
        raise ParameterError("`drop` names every column, so nothing is left to draft; drop fewer.")
    quote = plan.quote(len(columns)).with_data(provenance)
    return _chargeable(account, quote, "this draft"), plan.outlook(len(columns))


def plain_options(method: str) -> tuple[str, ...]:
    """Options of a method that are numbers, yes or no, or one of a few words: none of them names a file."""
    from understudy.facade.methods import synthesis_methods
    from understudy.parameters import Flag, Number, OneOf, Whole, options_of

    recipe = synthesis_methods()[method]
    kinds = (Number, Whole, Flag, OneOf)
    return tuple(name for name, option in options_of(recipe).items() if isinstance(option.rule, kinds))


def promising_methods() -> tuple[str, ...]:
    """Methods of synthesis that have a price."""
    from understudy.facade.methods import synthesis_methods

    return tuple(name for name, recipe in synthesis_methods().items() if recipe.route != "none")


def verified_release(path: str | Path) -> None:
    """Refuse a release that does not verify, or whose figures nobody paid for. What it raises is for the holder."""
    from understudy.facade.releases import verify

    verdict = verify(path)
    if not verdict.is_valid:
        raise ReleaseError(f"the release {str(path)!r} does not verify: {listed(verdict.problems)}.")
    if verdict.total is None or not hasattr(verdict.total, "epsilon"):
        raise ReleaseError(
            f"the release {str(path)!r} is not differentially private, so what would be told of it is not paid for. "
            "Offer releases with an epsilon."
        )


def promise_of(path: str | Path) -> dict[str, Any]:
    """What a release is and promises, as its manifest says."""
    from understudy.release.reading import made_of, read_manifest_file

    manifest = read_manifest_file(Path(path))
    return {"holds": made_of(manifest).value, "method": str(manifest["method"]), "statement": manifest["statement"]}


def read_answer(path: str | Path) -> dict[str, Any]:
    """The figures, words and promise in the folder of an answer; everything in it was paid for."""
    import pyarrow.parquet

    from understudy.loading import loading
    from understudy.privacy.provenance import Made
    from understudy.release.folders import digest_of
    from understudy.release.reading import made_of, read_manifest_file, tables_of

    place = Path(path)
    with loading(place, "the answer", remedy="ask again; that is charged.", error=ReleaseError):
        manifest = read_manifest_file(place)
        (table,) = tables_of(place, manifest)
        if made_of(manifest) is not Made.ANSWER or digest_of(table) != manifest["files"].get(table.name):
            raise ReleaseError(f"the folder {place.name!r} holds no answer, or it was changed since.")
        rows = pyarrow.parquet.read_table(table).to_pylist()
        parameters: Mapping[str, Any] = manifest["parameters"]
        return {
            "answer": str(manifest["release"]),
            "question": str(parameters["question"]),
            "level": parameters["level"],
            "target": parameters["target"],
            "figures": [{name: row[name] for name in _FIGURE} for row in rows],
            "statement": str(manifest["statement"]),
            "notes": [str(note) for note in manifest["warnings"]],
        }


_FIGURE = ("figure", "estimate", "error", "low", "high", "sampling", "note")
