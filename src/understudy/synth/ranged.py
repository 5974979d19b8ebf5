"""Large releases: paid once, drawn in parts by many workers, and resumed after a crash.

The order is what keeps the promise. The charge is reserved before anything is drawn; parts that are not whole are
destroyed unseen and drawn again from fresh streams; the release appears after its charge is committed. On route N the
released model is kept until the end, because perturbing the counts a second time would have to be paid again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any

import pyarrow as pa

from understudy.codebook import Codebook
from understudy.errors import ParameterError, RefusalError, ReleaseError, StoppedError, UnderstudyError
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import Account, Reservation
from understudy.release import Manifest
from understudy.release.release import digest_of
from understudy.release.workshop import Workshop
from understudy.sources import open_source
from understudy.sources.base import Report, Source
from understudy.synth.detail_file import read_details, write_details
from understudy.synth.details import Details, count_details
from understudy.synth.drawers import ModelDrawer, RangeDrawer
from understudy.synth.grouping import count_people, sizes_of
from understudy.synth.model_file import LoadedModel, load_model, write_model
from understudy.synth.paid_books import owed
from understudy.synth.part_work import PART_ROWS, PartJob, part_sizes
from understudy.synth.people import capped_source, of_people
from understudy.synth.perturbed import FittedPerturbed, PerturbedRecipe
from understudy.synth.plugs import PLUGS
from understudy.synth.recipe import DECLARED_ROWS, NO_ACCOUNT, Fitted, Quote, Recipe, check_rows
from understudy.synth.released import FittedReleased
from understudy.synth.workers import LocalWorkers, SparkWorkers, Workers

__all__ = ["PartedRelease", "draw_parts", "synthesize_parts"]

_DETAILS = "details.npz"
"""The released tables of the details in a workshop, where no model file keeps them."""


@dataclass(frozen=True, kw_only=True)
class PartedRelease:
    """A release that is too large for memory: a folder of parts and its manifest."""

    folder: Path
    manifest: Manifest

    @property
    def statement(self) -> str:
        """The promise in plain words."""
        return self.manifest.statement


@dataclass(frozen=True, kw_only=True)
class _Order:
    """What is to be made, where, and by whom."""

    target: Path
    rows: int
    part_rows: int
    seed: int | None
    workers: Workers
    report: Report | None

    def tell(self) -> Callable[[int], None]:
        done = 0

        def told(rows: int) -> None:
            nonlocal done
            done += rows
            if self.report:
                self.report("drawing rows", min(done, self.rows), self.rows)

        return told


def synthesize_parts(
    data: Any,
    book: Codebook,
    recipe: Recipe,
    *,
    rows: int,
    out: str | Path,
    workers: Workers | None = None,
    part_rows: int = PART_ROWS,
    account: Account | str | Path | None = None,
    seed: int | None = None,
    unknown: str = "error",
    table: str | None = None,
    report: Report | None = None,
) -> PartedRelease:
    """Fit, pay, draw in parts and write; run again with the same arguments after a crash, it goes on."""
    order = _order(out, rows, part_rows, seed, workers, report)
    _refuse_shared_budgets(recipe)
    if not recipe.ranged:
        raise ParameterError(
            f"{recipe.name} draws its file as a whole, so it cannot be spread over parts or workers; leave the engine "
            "out, or use another method."
        )
    quote = recipe.quote(book, rows, secure=seed is None)  # refuse bad numbers before anything is touched
    paying = Account.open(account) if isinstance(account, str | Path) else account
    with Workshop(order.target, _terms(recipe, book, order, paying)) as shop:
        run = _Run(recipe=recipe, book=book, quote=quote, order=order, shop=shop, account=paying)
        try:
            return run.go(lambda: _opened(shop, data, book, unknown, table))
        except RefusalError:
            # an answer about perturbed tables is an answer: it stays charged, and there is nothing to resume
            run.commit()
            shop.abandon()
            raise
        except (OSError, pa.ArrowException, KeyboardInterrupt) as reason:
            raise run.interrupted(reason) from None
        except UnderstudyError:
            if run.reservation is None and not shop.is_resumed:
                shop.abandon()
            raise


def draw_parts(
    model: Path,
    *,
    rows: int,
    out: str | Path,
    workers: Workers | None = None,
    part_rows: int = PART_ROWS,
    report: Report | None = None,
) -> PartedRelease:
    """As many more rows from a released model; nothing is paid."""
    order = _order(out, rows, part_rows, None, workers, report)
    loaded = load_model(model)
    terms = {"model": digest_of(model), "rows": rows, "part_rows": part_rows}
    with Workshop(order.target, terms) as shop:
        try:
            drawer = ModelDrawer(loaded.model)
            said = _draw_all(drawer, loaded.model.codebook, order, shop, loaded.model.people)
            manifest = _model_manifest(loaded, shop, order, said)
            folder = shop.finish(loaded.model.codebook, manifest.to_dict, before=lambda: None)
            return PartedRelease(folder=folder, manifest=manifest)
        except RefusalError:
            shop.abandon()
            raise
        except (OSError, pa.ArrowException, KeyboardInterrupt) as reason:
            raise _interrupted(reason, shop, order, paid=False) from None


def _opened(shop: Workshop, data: Any, book: Codebook, unknown: str, table: str | None) -> Source:
    place = _place(data)
    if "data" in shop.plan and shop.plan["data"] != place:
        raise ReleaseError(
            f"{str(shop.folder)!r} holds an unfinished release of other data ({shop.plan['data'] or 'in memory'}); "
            "rows of two tables would be paid for as one. Give the same table, or remove the folder to give it up."
        )
    shop.remember(data=place)
    source = open_source(data, book, unknown=unknown, table=table)
    if source.ancestor is not None:  # its manifest would have to travel with the parts
        raise ParameterError(
            f"the data are {source.ancestor.called}, which is synthesized as a whole; leave the engine and the parts "
            "out."
        )
    return source


def _refuse_shared_budgets(recipe: Recipe) -> None:
    """Parents that are chosen once and kept for a resumed run must not change how much the tables are smoothed."""
    if not isinstance(recipe, PerturbedRecipe):
        return
    chosen = recipe.parents == "private" or not isinstance(recipe.parents, str | Mapping | NoneType)
    if chosen and getattr(recipe, "alpha", None) is None:
        raise ParameterError(
            "parents that are chosen privately go with parts only where alpha is given, since a resumed run keeps the "
            "parents and must smooth as the first one did. Give --alpha, declare the parents in the codebook, or leave "
            "the engine out."
        )


def _order(
    out: str | Path, rows: int, part_rows: int, seed: int | None, workers: Workers | None, report: Report | None
) -> _Order:
    check_rows(rows)
    if isinstance(part_rows, bool) or not isinstance(part_rows, int) or part_rows < 1:
        raise ParameterError(f"`part_rows` is {part_rows!r}; it must be a whole number of 1 or more. Try 1000000.")
    target = Path(out)
    if not target.absolute().parent.is_dir():
        raise ReleaseError(
            f"the folder {str(target.absolute().parent)!r} does not exist; make it first, then run again."
        )
    return _Order(
        target=target,
        rows=rows,
        part_rows=part_rows,
        seed=seed,
        workers=workers or LocalWorkers(),
        report=report,
    )


def _terms(recipe: Recipe, book: Codebook, order: _Order, account: Account | None) -> dict[str, Any]:
    """What must be the same when work goes on; where it runs may change."""
    return {
        "method": recipe.name,
        "parameters": recipe.parameters(),
        "rows": order.rows,
        "part_rows": order.part_rows,
        "codebook": book.digest,
        "randomness": "secure" if order.seed is None else f"seed {order.seed}",
        "account": None if account is None else {"dataset": account.dataset, "created": account.created},
    }


def _place(data: Any) -> str | None:
    """Where the rows lie; another table would be paid for by nobody. It stays in the folder of the unfinished work."""
    if not isinstance(data, str | Path):
        return None
    return str(data) if "://" in str(data) else str(Path(data).absolute())


class _Run:
    """One attempt at a release, the first or a later one."""

    def __init__(
        self, *, recipe: Recipe, book: Codebook, quote: Quote, order: _Order, shop: Workshop, account: Account | None
    ) -> None:
        self._recipe, self._book, self._quote = recipe, book, quote
        self._order, self._shop, self._account = order, shop, account
        self.reservation: Reservation | None = None
        self._found: LoadedModel | None = None
        self._origin = DECLARED_ROWS

    def go(self, opened: Callable[[], Source]) -> PartedRelease:
        shop, order = self._shop, self._order
        if shop.model_path.exists():  # route N: everything that is still needed was paid for and kept
            self._pay()
            model = load_model(shop.model_path).model
            said = _draw_all(ModelDrawer(model), self._book, order, shop, model.people)
        else:
            source = opened()
            if isinstance(self._recipe, PLUGS) and _on_spark(source, order.workers):
                said = self._on_spark(source)
            else:
                fitted = self._fit(source)
                self._pay()
                self._keep(fitted)
                drawer = fitted.drawer(order.rows, self._quote.ledger)
                drawer.details = self._kept_details(fitted.details)
                said = _draw_all(drawer, self._book, order, shop, self._people(fitted.people))
        manifest = self._manifest(said)
        folder = shop.finish(self._book, manifest.to_dict, before=self.commit)
        return PartedRelease(folder=folder, manifest=manifest)

    def _on_spark(self, source: Source) -> tuple[str, ...]:
        """PLUGS where the records lie; see :mod:`understudy.synth.spark_plugs`."""
        from understudy.synth.spark_plugs import draw_where_it_lies

        assert isinstance(self._recipe, PLUGS)
        self._recipe.event(self._book)  # refuse an impossible l before anything is read
        stream = self._stream()
        source = capped_source(source, stream)
        fresh = count_details(of_people(self._recipe, self._book), source, stream)  # at the share of one record
        counted = count_people(self._recipe, source, stream)
        self._pay()
        details, people = self._kept_details(fresh), self._people(counted)
        job = _job(self._book, self._order, self._shop, step=1, people=people)
        draw_where_it_lies(
            self._recipe, source, job, self._quote.ledger, self._shop, details=details, told=self._order.tell()
        )
        return ()

    def _fit(self, source: Source) -> Fitted:
        """Counts, and on route N their noise. What an earlier run chose privately is not chosen again."""
        order = self._order
        recipe = self._recipe
        chosen = self._shop.plan.get("parents")
        if chosen is not None and isinstance(recipe, PerturbedRecipe):
            parents = {name: tuple(some) for name, some in chosen.items()}
            recipe = replace(recipe, parents=parents, selection_epsilon=None)
        fitted = recipe.fit(source, stream=self._stream(), report=order.report)
        # the same prices: what an earlier run chose is kept as declared parents, and the manifest names the choice
        object.__setattr__(fitted, "recipe", self._recipe)
        self._origin = fitted.rows_origin
        return fitted

    def _people(self, found: tuple[int, ...]) -> tuple[int, ...]:
        """How many records synthetic people have: counted once for a release, whatever a later run finds."""
        if found:
            found = tuple(self._shop.plan.get("people", found))
            self._shop.remember(people=list(found))
        return found

    def _stream(self) -> Stream:
        """What a fit chooses and perturbs by; a later run has another, see proofs/group_of_records.md."""
        return Stream.from_system() if self._order.seed is None else Stream.seeded(self._order.seed)

    def _pay(self) -> None:
        """Reserve, unless an earlier run did: its charge is found by the name of the release."""
        if self._account is None:
            return
        label = f"{self._recipe.name}, {self._order.rows:,} rows, release {self._shop.release_id}"
        ledger, delta = owed(self._quote.ledger, self._quote.delta, self._book, self._account)
        self.reservation = self._account.find(label=label, ledger=ledger)
        if self.reservation is None:
            self.reservation = self._account.reserve(ledger, label=label, delta=delta)
        self.reservation.output_begins()  # parts on a disk may be seen: from here on the price stays
        self._shop.remember(charge=self.reservation.number)

    def _keep(self, fitted: Fitted) -> None:
        """What may not be drawn or chosen a second time, kept until the release is finished."""
        if isinstance(fitted, FittedReleased) and self._recipe.route == "N":
            try:
                write_model(fitted.model, self._shop.model_path, before=lambda: None)
            except ReleaseError as reason:  # paid for, so it is an interruption and not an end
                raise OSError(str(reason)) from None
        elif isinstance(fitted, FittedPerturbed):
            self._shop.remember(parents={name: list(some) for name, some in fitted.parents.items()})

    def _kept_details(self, fresh: Details) -> Details:
        """The tables of the details that an earlier run released, or these, kept: to perturb twice is to pay twice.

        What is exact (methods without a promise) comes out the same again and is not written down.
        """
        if not fresh or self._recipe.route in ("N", "none"):
            return fresh
        path = self._shop.folder / _DETAILS
        if not path.exists():
            write_details(fresh, path)
        return read_details(self._book, path)

    def commit(self) -> None:
        """The charge takes the name of the release; again is harmless."""
        if self.reservation is not None:
            self.reservation.commit(self._shop.release_id)

    def _manifest(self, said: tuple[str, ...]) -> Manifest:
        quote = self._quote
        account = self._account
        return Manifest(
            release_id=self._shop.release_id,
            method=self._recipe.name,
            route=self._recipe.route,
            parameters=of_people(self._recipe, self._book).parameters(),
            rows=quote.rows,
            rows_origin=self._origin,
            ledger=quote.ledger,
            delta=quote.delta,
            paper=quote.paper,
            codebook=self._book,
            secure=self._order.seed is None,
            warnings=(*quote.warnings, *said),
            account=NO_ACCOUNT if account is None else f"charged to the account of {account.dataset!r}",
            parts=len(self._shop.receipts()),
        )

    def interrupted(self, reason: BaseException) -> UnderstudyError:
        """What to tell whoever waits, and how to go on."""
        if self.reservation is None and not self._shop.is_resumed:
            self._shop.abandon()
            if isinstance(reason, KeyboardInterrupt):
                return StoppedError("interrupted; nothing was written and nothing was charged. Run it again.")
            return ReleaseError(f"the release could not be begun ({reason}); nothing was left behind.")
        return _interrupted(reason, self._shop, self._order, paid=self.reservation is not None)


def _interrupted(reason: BaseException, shop: Workshop, order: _Order, *, paid: bool) -> UnderstudyError:
    done = sum(receipt.rows for receipt in shop.receipts().values())
    charged = " It is charged already and will not be charged again." if paid else ""
    rest = (
        f"{done:,} of {order.rows:,} rows are safe in {str(shop.folder)!r}. Run the same command again: it goes on "
        f"where this stopped.{charged}"
    )
    if isinstance(reason, KeyboardInterrupt):
        return StoppedError(f"interrupted; {rest}")
    why = getattr(reason, "strerror", None) or str(reason).splitlines()[0]
    remedy = "Free space first. " if "space" in why.lower() or "too large" in why.lower() else ""
    return ReleaseError(f"the release {str(shop.target)!r} could not be finished ({why}). {remedy}{rest}")


def _job(book: Codebook, order: _Order, shop: Workshop, *, step: int, people: tuple[int, ...]) -> PartJob:
    return PartJob(
        book=book,
        parts_folder=shop.parts_folder.absolute(),
        receipts_folder=shop.receipts_folder.absolute(),
        sizes=tuple(part_sizes(order.rows, order.part_rows, step)),
        seed=order.seed,
        people=sizes_of(book, people),
    )


def _draw_all(
    drawer: RangeDrawer, book: Codebook, order: _Order, shop: Workshop, people: tuple[int, ...]
) -> tuple[str, ...]:
    """Every part that has no receipt yet; the warnings of all parts."""
    job = _job(book, order, shop, step=drawer.step, people=people)
    done = shop.destroy_strays(check=True)
    told = order.tell()
    told(sum(receipt.rows for receipt in done.values()))
    # one range in this process first, destroyed unseen: what must be refused is refused before workers are sent out
    drawer.draw(drawer.step, Stream.from_system())
    missing = [number for number in range(len(job.sizes)) if number not in done]
    if missing:
        order.workers.draw(job, drawer, missing, told)
    receipts = shop.receipts()
    rows = sum(receipt.rows for receipt in receipts.values())
    if sorted(receipts) != list(range(len(job.sizes))) or rows != order.rows:
        raise ReleaseError(f"{rows:,} of {order.rows:,} rows were written to {str(shop.folder)!r}; run again to go on.")
    return tuple(dict.fromkeys(text for _, receipt in sorted(receipts.items()) for text in receipt.warnings))


def _on_spark(source: Source, workers: Workers) -> bool:
    from understudy.sources.benches import SparkBench

    return isinstance(workers, SparkWorkers) and isinstance(getattr(source, "bench", None), SparkBench)


def _model_manifest(loaded: LoadedModel, shop: Workshop, order: _Order, said: tuple[str, ...]) -> Manifest:
    manifest = loaded.manifest(order.rows, release_id=shop.release_id, secure=True, warnings=said)
    return replace(manifest, parts=len(shop.receipts()))
