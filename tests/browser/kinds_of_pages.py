"""Every kind of page that the software writes or serves, each made once from a tiny table.

To add a kind, write a function that makes one and says where it is, with ``@kind`` above it. What holds for all of them
is tested in ``test_every_kind_of_page.py``.
"""

import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import commute_zones

import understudy as us
from understudy.facade.averages import averages_risk
from understudy.facade.commutes import evaluate_commute, map_commute

sys.path[:0] = [str(Path(__file__).parents[1] / part) for part in ("service", "unit")]

_COLUMNS = ("age.yrs", "sex", "race", "pay", "disp", "MDC", "sev")


@dataclass
class Workshop:
    """Where pages are made, and what several of them are made from."""

    folder: Path
    stack: ExitStack = field(default_factory=ExitStack)
    """Ends what was started for a page, such as a server."""

    @cached_property
    def book(self):
        book = us.datasets.discharges_codebook()
        kept = tuple(replace(column, parents=None) for column in book.columns if column.name in _COLUMNS)
        return replace(book, columns=kept)

    @cached_property
    def table(self):
        return us.datasets.discharges(rows=700, seed=3).select(list(_COLUMNS))

    @cached_property
    def others(self):
        return us.datasets.discharges(rows=300, seed=4).select(list(_COLUMNS))

    @cached_property
    def release(self):
        us.synthesize(
            self.table, self.book, rows=500, method="marginals", epsilon=3.0, delta=1e-6, out=self.folder / "release"
        )
        return self.folder / "release"

    @cached_property
    def people(self):
        return us.datasets.histories(150, seed=3)._asdict()

    @cached_property
    def linked(self):
        us.synthesize(
            self.people, us.datasets.histories_codebook(), rows=80, epsilon=3.0, delta=1e-6, out=self.folder / "linked"
        )
        return self.folder / "linked"

    @cached_property
    def town(self):
        return us.datasets.commutes(1500, seed=3, homes=80, workplaces=12)

    @cached_property
    def commutes(self):
        us.commute(
            self.town.flows,
            4.6,
            "exact",
            delta=1e-6,
            count="workers",
            places=self.town.places,
            out=self.folder / "commutes",
        )
        return self.folder / "commutes"

    @cached_property
    def server(self):
        return self._served(["--example"])

    @cached_property
    def answering(self):
        """A service on a data set, and the address of an answer that it gave."""
        from answer_bench import Office, Stays

        place = self.folder / "stays"
        place.mkdir()
        office = Office(Stays.made(place))
        running = self._served(office.words())
        said = {"page": None}
        for _ in range(10):  # on a busy machine the first answer may take longer than a request waits
            said = said if said["page"] else self._asked(running.url, office.analyst.text)
        return running.url, running.url + said["page"]

    def _asked(self, url, key):
        import httpx

        question = {"question": "mean of charge by sex", "epsilon": 0.5}
        headers = {"Authorization": f"Bearer {key}"}
        return httpx.post(f"{url}/v1/data/stays/answer", json=question, headers=headers, timeout=90).json()

    def _served(self, words):
        from workbench import Server

        running = Server(words, {"PYTHONPATH": str(Path(us.__file__).parents[1])})
        for stream in (running.process.stdout, running.process.stderr):
            self.stack.callback(stream.close)
        self.stack.callback(running.stop)
        return running

    @cached_property
    def averages(self):
        from reconstruct_cases import averages, table

        frame, values = table(n=120)
        return frame.drop(columns="ward").assign(truth=values), averages(frame, values, "county")


@dataclass(frozen=True)
class Kind:
    """A kind of page."""

    make: Callable[[Workshop], Path | str]
    """Makes one and says where it is: a file, or the address of a running server."""
    figures: bool
    """Whether it has figures, which must be there without script and on paper."""
    script: bool
    """Whether it is an instrument that cannot work without script; then it must say so."""


KINDS: dict[str, Kind] = {}


def kind(*, figures: bool = True, script: bool = False):
    """Register the maker of a kind of page under its own name."""

    def register(make):
        KINDS[make.__name__] = Kind(make=make, figures=figures, script=script)
        return make

    return register


@kind()
def report(shop):
    page = shop.folder / "report.html"
    us.evaluate(shop.table, shop.release, shop.book, out=page, risk="quick", target="sev", holdout=shop.others)
    return page


@kind()
def face_of_a_table(shop):
    return shop.release / "index.html"


@kind()
def face_of_linked_tables(shop):
    return shop.linked / "index.html"


@kind()
def face_of_commutes(shop):
    return shop.commutes / "index.html"


@kind()
def face_of_a_score(shop):
    us.train(shop.table, shop.book, "sex", epsilon=2.0, delta=1e-6, quality_epsilon=1.0, out=shop.folder / "score.us")
    return shop.folder / "score.us.html"


@kind()
def face_that_was_withdrawn(shop):
    shutil.copytree(shop.release, shop.folder / "old")
    us.withdraw(shop.folder / "old", why="a wrong level")
    return shop.folder / "old" / "index.html"


@kind()
def linked_tables_evaluated(shop):
    page = shop.folder / "linked.html"
    us.evaluate_linked(shop.people, shop.linked, out=page)
    return page


@kind()
def risk_utility_map(shop):
    folder = shop.folder / "map"
    us.rumap(
        shop.table, shop.book, 60, (1.0, 10.0), folder, methods=("laplace", "bayesian-bootstrap"), repeat=1, seed=1
    )
    return folder / "map.html"


@kind()
def anonymised(shop):
    page = shop.folder / "anonymised.html"
    us.anonymize(
        shop.table,
        shop.book,
        k=3,
        suppression=0.3,
        quasi=("sex", "race", "pay"),
        out=shop.folder / "anonymised",
        page=page,
    )
    return page


@kind()
def reconstructed(shop):
    people, averages = shop.averages
    us.reconstruct(people, averages, out=shop.folder / "reconstructed", truth=["truth"], seed=1)
    return shop.folder / "reconstructed" / "report.html"


@kind()
def risk_of_averages(shop):
    page = shop.folder / "averages.html"
    averages_risk(shop.table, shop.book, groups=["race"], value="sev", out=page, seed=1, epsilons=(1.0,))
    return page


@kind()
def commutes_evaluated(shop):
    page = shop.folder / "commutes.html"
    evaluate_commute(shop.town.flows, shop.commutes, out=page, count="workers", short=5.0)
    return page


@kind(script=True)
def commutes_mapped(shop):
    return map_commute(shop.commutes, shop.folder / "flows.html").file


@kind(script=True)
def commutes_of_named_areas(shop):
    page = map_commute(commute_zones.release(shop.folder / "zones"), shop.folder / "zones.html").file
    return f"{page.as_uri()}#a=town:001&b=town:002&tab=distance&unsure=1"


@kind()
def counts(shop):
    page = shop.folder / "counts.html"
    us.count(shop.table, shop.book, ["sex", "race"], 1.0, page=page)
    return page


@kind()
def inference(shop):
    page = shop.folder / "inference.html"
    us.infer(shop.release, share="sex", mean="sev", out=page)
    return page


@kind()
def answer(shop):
    page = shop.folder / "answer.html"
    found = us.answer(shop.table, shop.book, "share of sex=Female by race", epsilon=1.0, release=shop.release)
    page.write_text(found.page(), encoding="utf-8")
    return page


@kind()
def face_of_an_answer(shop):
    folder = shop.folder / "answered"
    us.answer(shop.table, shop.book, "difference of share of sex=Female by race", epsilon=1.0, out=folder)
    return folder / "index.html"


@kind(figures=False, script=True)
def service_front(shop):
    return shop.server.url


@kind(figures=False, script=True)
def service_interface(shop):
    return shop.server.url + "/docs"


@kind(figures=False, script=True)
def service_ask(shop):
    return shop.answering[0] + "/ask"


@kind(figures=False, script=True)
def service_review(shop):
    return shop.answering[0] + "/review"


@kind(figures=True)
def service_answer(shop):
    return shop.answering[1]
