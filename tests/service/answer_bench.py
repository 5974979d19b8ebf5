"""A data set to ask on: simulated stays, their account, a release that it paid for, and a service around them."""

import shutil
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from workbench import Service

import understudy as us
from understudy.codebook import Categorical, Codebook, Integer
from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.service import Desk, KeyBook, Store, create_app
from understudy.service.amounts import Amount
from understudy.service.caps import set_data_cap
from understudy.service.data_sets import DataSet, Rules
from understudy.service.projects import Projects

BOOK = Codebook(
    columns=(
        Categorical(name="sex", levels=("F", "M")),
        Categorical(name="region", levels=("North", "South", "Island")),
        Integer(name="charge", edges=tuple(map(Fraction, range(0, 1001, 100)))),
        Categorical(name="died", levels=("no", "yes")),
    ),
    title="Stays",
)
ROWS = 1_200


def stays(*, island: int = 3, seed: int = 1) -> pa.Table:
    """Simulated stays; how many of them are on the island is up to the caller."""
    draw = np.random.default_rng(seed)
    sex = draw.choice(["F", "M"], ROWS)
    region = draw.choice(["North", "South"], ROWS).astype(object)
    region[:island] = "Island"
    charge = np.clip(draw.normal(400 + 80 * (sex == "M"), 150), 0, 999).astype(int)
    died = np.where(draw.random(ROWS) < 0.05 + 0.0003 * charge, "yes", "no")
    return pa.table({"sex": sex, "region": region.astype(str), "charge": charge, "died": died})


@dataclass(frozen=True)
class Stays:
    """Files of the data set; :meth:`copied` before anything is charged."""

    folder: Path

    @classmethod
    def made(cls, folder: Path) -> "Stays":
        pq.write_table(stays(), folder / "stays.parquet")
        BOOK.save(folder / "stays.toml")
        account = Account.create(
            folder / "stays.account", dataset="stays", epsilon=100.0, delta=1e-4, neighbours=Neighbours.ADD_REMOVE
        )
        us.synthesize(
            folder / "stays.parquet",
            folder / "stays.toml",
            rows=ROWS,
            epsilon=4.0,
            delta=1e-6,
            out=folder / "release",
            account=account,
        )
        (folder / "data.toml").write_text(
            'format = 1\n[stays]\nsource = "stays.parquet"\ncodebook = "stays.toml"\naccount = "stays.account"\n'
            'release = "release"\nreview = "rules"\n[stays.rules]\nepsilon = 1.0\nsmallest = 20\n',
            encoding="utf-8",
        )
        return cls(folder)

    def copied(self, folder: Path) -> "Stays":
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Stays(folder)

    @property
    def account(self) -> Account:
        return Account.open(self.folder / "stays.account")

    def data_set(self, *, table: str = "stays.parquet", **more: Any) -> DataSet:
        return DataSet(
            name="stays",
            address=str(self.folder / table),
            book=BOOK,
            account=self.account,
            release=self.folder / "release",
            **more,
        )


class AnswerService(Service):
    """An application with a data set, an analyst, a steward and their keys."""

    def __init__(
        self,
        store: Store,
        stays: Stays,
        *,
        cap: Amount | None = None,
        project: Amount | None = None,
        review: str = "rules",
        rules: Rules | None = None,
        with_models: bool = False,
        proxy: Any = None,
        aliases: Any = None,
        **more: Any,
    ) -> None:
        cap = cap or Amount.cap(5.0, 1e-6)
        self.projects = Projects(store)
        set_data_cap(self.projects, "stays", cap, account=stays.account, database=store.identity)
        self.projects.create("readmission", "stays", project or cap)
        if with_models:
            super().__init__(store, cap=20.0, grant=10.0)
        self.store = store
        self.models = self.models if with_models else {}
        data = {"stays": stays.data_set(review=review, rules=rules or Rules(), **more)}
        self.desk = Desk(store=store, models=self.models, data=data, proxy=proxy)
        self.projects, self.questions = self.desk.answers.projects, self.desk.answers.questions
        self.app = create_app(self.desk, aliases=aliases)
        scopes = ("answer", "review", "ledger", "budget", *(("score", "metrics") if with_models else ()))
        self.made = self.desk.keys.create(label="analyst", scopes=scopes, rate=1_000_000)
        self.key_id = self.made.key.key_id
        self.projects.join("readmission", self.key_id, project or cap)
        if with_models:
            self.budgets.grant(self.key_id, self.sepsis.model_id, 10.0)

    def ask_data(self, question: str, *, epsilon: float = 0.5, key: str | None = "own", **terms: Any):
        body = {"question": question, "epsilon": epsilon, **terms}
        return self.call("POST", "/v1/data/stays/answer", key=key, json=body)

    @property
    def spent_on_data(self) -> Amount:
        return self.projects.budget_of("stays").spent


class Office:
    """What an agency sets up before it serves a data set: caps, a project, keys of an analyst and of a steward."""

    def __init__(self, stays: Stays, *, review: str = "exceptions", cap: float = 5.0) -> None:
        self.folder = stays.folder
        file = self.folder / "data.toml"
        file.write_text(file.read_text().replace('review = "rules"', f'review = "{review}"'), encoding="utf-8")
        self.database = f"sqlite:///{self.folder / 'service.db'}"
        with Store.open(self.database) as store:
            projects, keys = Projects(store), KeyBook(store)
            set_data_cap(projects, "stays", Amount.cap(cap), account=stays.account, database=store.identity)
            projects.create("readmission", "stays", Amount.cap(cap))
            self.analyst = keys.create(label="analyst", scopes=["answer"], rate=100_000)
            self.steward = keys.create(label="steward", scopes=["review", "ledger"], rate=100_000)
            projects.join("readmission", self.analyst.key.key_id, Amount.cap(cap))

    def words(self) -> list[str]:
        return ["--data", str(self.folder / "data.toml"), "--database", self.database]
