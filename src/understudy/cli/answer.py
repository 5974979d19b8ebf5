"""`answer`: one question on the real data, at a price."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import progress, tell, warn, wrote
from understudy.cli.console import table as plain_table
from understudy.cli.shared import number_option, option
from understudy.errors import ParameterError
from understudy.facade import answers

_PRIVACY = "Privacy"


def answer(
    data: o.Data,
    question: Annotated[
        str,
        typer.Argument(help="For example 'mean of charge by sex' or 'logistic died ~ age + sex'.", metavar="QUESTION"),
    ],
    codebook: o.CodebookPath,
    epsilon: Annotated[float | None, number_option("Privacy loss of the whole answer.", panel=_PRIVACY)] = None,
    delta: Annotated[
        float | None, number_option("Of the price, if Gaussian noise may be used where it is less.", panel=_PRIVACY)
    ] = None,
    neighbours: Annotated[str, option("add-remove or replace-one.", panel=_PRIVACY)] = "add-remove",
    account: o.Account = None,
    release: Annotated[
        Path | None, option("Folder of a release: it is asked first, and the answer says how far it was off.")
    ] = None,
    output: Annotated[Path | None, option("New folder for the answer.", "--out", "-o")] = None,
    quote: Annotated[bool, option("Only say what it would cost, and what the release says.", "--quote")] = False,
    target: Annotated[
        str, option("population: intervals cover sampling and noise; table: noise only.", "--for")
    ] = "population",
    level: Annotated[float, number_option("Confidence of the intervals.")] = 0.95,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    seed: o.Seed = None,
    json: o.Json = False,
) -> None:
    """Answer one question on the real data, with intervals, at a declared price."""
    if epsilon is None:
        raise ParameterError("answer needs `epsilon`; there is no default. Try 0.5 for `epsilon`.")
    how: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "neighbours": neighbours,
        "level": level,
        "target": target,
        "release": release,
    }
    if quote:
        price = answers.quote_answer(codebook, question, data=data, **how)
        told = None if release is None else answers.ask_release(release, question, level=level, target=target)
        tell({"quote": price, "release": told}, _price_lines(price, told), json=json)
        return
    with progress(quiet=json) as report:
        result = answers.answer(
            data,
            codebook,
            question,
            **how,
            account=account,
            out=output,
            unknown=unknown,
            table=table,
            seed=seed,
            report=report,
        )
    tell(result, _lines(result, output, account), json=json)
    if not json:
        warn(result.warnings)


def _price_lines(price: Any, told: Any) -> Iterator[Any]:
    total = price.total
    cost = f"epsilon {total.epsilon:.6g}, delta {total.delta:.3g}" if total.is_formal else f"no promise: {total.why}"
    yield f"{price.rows:,} figure{'' if price.rows == 1 else 's'} for {cost}."
    if told is not None:
        header, rows = answers.listed(told.figures)
        yield plain_table(header, rows, right=header[1:])
        yield "What the release says; that is free."


def _lines(result: Any, output: Path | None, account: Path | None) -> Iterator[Any]:
    header, rows = answers.listed_answer(result)
    kept = [place for place, heading in enumerate(header) if heading != "privacy"]  # the page has it
    if result.synthetic is None:
        kept = [place for place in kept if "release" not in header[place] and header[place] != "gap"]
    shown = [[row[place] for place in kept] for row in rows]
    if len({row[0].partition(" | ")[0] for row in shown}) == 1 < len(shown):  # the line above says what
        shown = [[row[0].partition(" | ")[2] or row[0], *row[1:]] for row in shown]
    yield result.question
    yield plain_table([header[place] for place in kept], shown, right=header[1:], whole=header[1:])
    for figure in result.figures:
        if figure.refused is not None:
            yield f"not told: {figure.refused}"
    yield f"Answer {result.answer_id}."
    yield result.statement
    yield from wrote(sorted(output.iterdir()) if output is not None else [])
    if account is None:
        yield "charged to no account, so nobody keeps track of what else these data paid for"
    else:
        yield f"charged to {account}; `understudy account show {account}` says what is left"
