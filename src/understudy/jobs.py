"""One function per use case. The command line, and later the services, call only these."""

import datetime as dt
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.blocks.priors import PriorShape, PublicShape, Shape
from understudy.codebook import Codebook
from understudy.codebook.declare import declare_text
from understudy.errors import CodebookError, ParameterError, ReleaseError
from understudy.evaluate.picture import marginal_picture
from understudy.evaluate.utility.compare import Comparison, compare
from understudy.mechanisms.smoothing import declared_public
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import Account
from understudy.privacy.guarantees import Neighbours
from understudy.release import Release
from understudy.release.release import refuse_existing
from understudy.sources import open_source
from understudy.sources.base import Report
from understudy.sources.check import Fault, check_table
from understudy.sources.draft import draft_codebook
from understudy.synth import BayesianBootstrap, PrivBayes, Quote, Recipe
from understudy.synth.model_file import load_model
from understudy.synth.registry import make_recipe
from understudy.synth.released import FittedReleased
from understudy.synth.seeds import seed_pool

__all__ = [
    "Choices",
    "DemoResult",
    "check",
    "create_account",
    "declare",
    "demo",
    "draft",
    "draw",
    "load_codebook",
    "open_account",
    "quote",
    "synthesize",
]


@dataclass(frozen=True, kw_only=True)
class Choices:
    """A method and its options as a person writes them: words and numbers, no objects."""

    method: str
    options: Mapping[str, Any]

    def recipe(self, book: Codebook, rows: int) -> Recipe:
        """The recipe these words mean. ``rows`` completes a whole-file target."""
        options = {name: value for name, value in self.options.items() if value is not None}
        if "neighbours" in options:
            options["neighbours"] = _relation(options["neighbours"])
        if "prior" in options:
            options["prior"] = _prior(options["prior"], book)
        if "seeds" in options:
            options["seeds"] = seed_pool(options["seeds"])
        if "parent" in options:
            options["parents"] = _parents(options.pop("parent"), options.get("parents"))
        if str(options.get("parents", "")).isdecimal():  # `--parents 2`, as the SBHG paper's R
            options["parent_count"] = int(options.pop("parents"))
        if "epsilon" in options and self.method in _WHOLE_FILE:
            options["rows"] = rows
        return make_recipe(self.method, **options)


_WHOLE_FILE = ("pegs", "pegs-rs", "marginal-bootstrap")


def _relation(word: str) -> Neighbours:
    try:
        return Neighbours(word)
    except ValueError:
        raise ParameterError(
            f"`neighbours` is {word!r}; it must be one of {', '.join(n.value for n in Neighbours)}."
        ) from None


def _prior(word: str, book: Codebook) -> Shape:
    if word in list(PriorShape):
        return PriorShape(word)
    tables = declared_public(open_source(word, book).count([[name] for name in book.names]))
    counts = {name: tuple(int(n) for n in table.to_grid()) for name, table in zip(book.names, tables, strict=True)}
    return PublicShape(counts=counts, source=word)


def _parents(given: Sequence[str], word: str | None) -> dict[str, tuple[str, ...]]:
    """``charge=los,sev`` for each column whose parents are set on the command line."""
    if word not in (None, "declared"):
        raise ParameterError(f"parents are given one by one and as {word!r}; choose one of the two.")
    chosen = {}
    for text in given:
        name, equals, parents = text.partition("=")
        if not equals or not name:
            raise ParameterError(f"`parent` is {text!r}; write it as COLUMN=PARENT,PARENT, for example charge=los,sev.")
        chosen[name] = tuple(parent for parent in parents.split(",") if parent)
    return chosen


def load_codebook(path: str | Path) -> Codebook:
    """Read a codebook file."""
    return Codebook.load(path)


def draft(data: Any, out: Path, *, table: str | None = None) -> Codebook:
    """A codebook drafted from data, written to a new file."""
    if out.exists():
        raise CodebookError(f"{str(out)!r} exists already; a draft never overwrites. Choose another name.")
    book = draft_codebook(data, table=table)
    try:
        book.save(out)
    except OSError as reason:
        raise CodebookError(f"the codebook {str(out)!r} cannot be written ({reason.strerror}).") from None
    return book


def check(data: Any, codebook: str | Path, *, table: str | None = None) -> list[Fault]:
    """Every fault of the data against the codebook."""
    return check_table(data, Codebook.load(codebook), table=table)


def declare(path: Path, *, columns: Sequence[str] | None, by: str, source: str, on: dt.date) -> Codebook:
    """Attest columns in a codebook file, keeping its comments."""
    Codebook.load(path)  # report every fault before touching the file
    text = declare_text(path.read_text(encoding="utf-8"), columns=columns, by=by, source=source, on=on)
    book = Codebook.from_toml(text)
    scratch = path.with_name(f".{path.name}.unfinished")
    try:
        scratch.write_text(text, encoding="utf-8", newline="\n")
        scratch.replace(path)
    except OSError as reason:
        raise CodebookError(f"the codebook {str(path)!r} cannot be written ({reason.strerror}).") from None
    return book


def quote(book: Codebook, choices: Choices, rows: int) -> Quote:
    """The price of a release; reads no row of the data."""
    return choices.recipe(book, rows).quote(book, rows)


def open_account(path: str | Path) -> Account:
    """An account whose charges can be priced: every event that a method can cause is known from here on."""
    return Account.open(path)


def create_account(
    path: str | Path, *, dataset: str, epsilon: float, delta: float, neighbours: str, composition: str = "basic"
) -> Account:
    """Open a new account."""
    return Account.create(
        path,
        dataset=dataset,
        epsilon=epsilon,
        delta=delta,
        neighbours=_relation(neighbours),
        composition=composition,
    )


def synthesize(
    data: Any,
    book: Codebook,
    choices: Choices,
    *,
    rows: int,
    out: str | Path,
    csv: bool = False,
    unknown: str = "error",
    table: str | None = None,
    account: str | Path | None = None,
    model_out: Path | None = None,
    seed: int | None = None,
    report: Report | None = None,
) -> Release:
    """Fit, pay, draw and write. The price is given back if nothing could be written."""
    _check_target(Path(out))
    recipe = choices.recipe(book, rows)
    if model_out is not None:
        _check_model_target(recipe, model_out, Path(out))
    recipe.quote(book, rows)  # refuse bad numbers before the data is touched
    source = open_source(
        data, book, unknown=unknown, table=table, account=None if account is None else open_account(account)
    )
    stream = Stream.from_system() if seed is None else Stream.seeded(seed)
    fitted = recipe.fit(source, stream=stream, report=report)
    with fitted.sampling(rows) as release:
        release.save(out, csv=csv)
    if model_out is not None:
        assert isinstance(fitted, FittedReleased)  # checked above
        fitted.save_model(model_out)
    return release


def draw(model: Path, *, rows: int, out: str | Path, csv: bool = False, report: Report | None = None) -> Release:
    """More rows from a released model; nothing is paid."""
    _check_target(Path(out))
    release = load_model(model).sample(rows, report=report)
    release.save(out, csv=csv)
    return release


def _check_model_target(recipe: Recipe, path: Path, out: Path) -> None:
    """Find out before anything is spent whether the model can be written."""
    if recipe.route != "N":
        raise ParameterError(
            f"{recipe.name} has no model that may leave the house (route {recipe.route}); leave --save-model out."
        )
    if path.exists():
        raise ReleaseError(f"{str(path)!r} exists already; a model never overwrites. Choose another name.")
    if path.absolute() == out.absolute():
        raise ParameterError(f"{str(path)!r} is meant for the release and for its model; give the model another name.")
    _check_folder(path.absolute().parent)


def _check_target(out: Path) -> None:
    """Find out before anything is spent whether the release can be written."""
    refuse_existing(out)
    _check_folder(out.absolute().parent)


def _check_folder(parent: Path) -> None:
    if not parent.is_dir():
        raise ReleaseError(f"the folder {str(parent)!r} does not exist; make it first, then run again.")
    try:
        tempfile.TemporaryFile(dir=parent).close()
    except OSError as reason:
        raise ReleaseError(
            f"nothing can be written in {str(parent)!r} ({reason.strerror}); choose a folder you may write to."
        ) from None


@dataclass(frozen=True, kw_only=True)
class DemoResult:
    """What the demo shows."""

    release: Release
    folder: Path
    synthetic: Comparison
    independent: Comparison
    files: tuple[Path, ...]


DEMO_DATA_ROWS = 50_000
DEMO_ROWS = 50_000
_DEMO_COLUMNS = ("age.yrs", "los", "charge", "MDC")


def demo(out: str | Path, *, report: Report | None = None) -> DemoResult:
    """Simulated discharges in, one synthetic release out, with its errors beside those of independent columns."""
    from understudy import datasets

    folder = Path(out)
    _check_target(folder)
    book = datasets.discharges_codebook()
    source = open_source(datasets.discharges(rows=DEMO_DATA_ROWS, seed=2011), book)
    recipe = PrivBayes(epsilon=1.0, public_rows=DEMO_DATA_ROWS)
    release = recipe.fit(source, report=report).sample(DEMO_ROWS)
    independent = BayesianBootstrap().fit(source).sample(DEMO_ROWS)
    made = open_source(release.table, book)
    release.save(folder, csv=True)
    picture = folder.with_name(folder.name + "-picture.svg")
    drawn = marginal_picture(source, made, columns=_DEMO_COLUMNS, real_label="confidential (simulated)")
    picture.write_text(drawn, encoding="utf-8")
    return DemoResult(
        release=release,
        folder=folder,
        synthetic=compare(source, made),
        independent=compare(source, open_source(independent.table, book)),
        files=(*sorted(folder.iterdir()), picture),
    )
