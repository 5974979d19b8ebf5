"""Adult and the American Community Survey, from the folder named by ``UNDERSTUDY_DATA``; nothing is written there.

Levels come from the public dictionaries that lie beside the data. A fifth of the rows is held out for the classifier
and seen by no synthesizer.
"""

import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from experiments.sbhg.simulate import Table
from understudy.codebook import Categorical, Codebook
from understudy.sources.tables import code_type

Texts = dict[str, npt.NDArray[Any]]
Codes = Sequence[npt.NDArray[np.unsignedinteger]]


class Absent(Exception):
    """A file that an experiment needs is not on this machine."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A table, held-out rows of the same population, and the column that a classifier predicts."""

    title: str
    table: Table
    train: Codes
    test: Codes
    target: str

    def accuracy(self, codes: Codes | None = None) -> float:
        """Logistic regression on synthetic rows (the real ones if none), tested on held-out real rows."""
        from scipy.sparse import csr_matrix
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        book = self.table.source.codebook
        rows = self.train if codes is None else codes
        at = book.position(self.target)
        truth = np.asarray(self.test[at])
        labels = np.asarray(rows[at])
        if len(np.unique(labels)) < 2:
            return float((truth == labels[0]).mean())
        offsets = np.cumsum([0, *book.sizes])

        def one_hot(columns: Codes) -> Any:
            found = [np.asarray(c, dtype=np.int64) + offsets[i] for i, c in enumerate(columns) if i != at]
            count, width = len(columns[0]), len(found)
            where = np.stack(found, axis=1).ravel()
            starts = np.arange(0, count * width + 1, width)
            return csr_matrix((np.ones(count * width), where, starts), shape=(count, int(offsets[-1])))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # near enough: the third digit of the accuracy
            model = LogisticRegression(max_iter=60, tol=1e-3).fit(one_hot(rows), labels)
        return float((model.predict(one_hot(self.test)) == truth).mean())

    @property
    def majority(self) -> float:
        """Accuracy of always saying the commoner label."""
        share = float(np.asarray(self.test[self.table.source.codebook.position(self.target)]).mean())
        return max(share, 1 - share)


def adult() -> Task:
    """48,842 records, 13 categorical columns (age by 5 years, hours by 10, capital in bands); predict income > 50K."""
    folder = _folder("adult_benchmark", "train.csv.gz", "test.csv.gz", "domain.json")
    levels = json.loads((folder / "domain.json").read_text(encoding="utf-8"))
    train, test = (_read(folder / name) for name in ("train.csv.gz", "test.csv.gz"))
    return _task("Adult", train, test, levels, "income")


AS_THEY_ARE = ("PUMA", "SEX", "MSP", "HISP", "RAC1P", "NOC", "NPF", "HOUSING_TYPE", "OWN_RENT", "INDP_CAT", "EDU")
AS_THEY_ARE += ("DVET", "DREM", "DPHY", "DEYE", "DEAR")


def acs() -> Task:
    """Persons of 15 or more (those with an income decile), 19 columns; predict an income in the upper five deciles.

    Left out: weights, and columns that repeat others (DENSITY by PUMA, INDP by INDP_CAT, PINCP by its decile).
    """
    folder = _folder("nist_acs", "national2019.csv.gz", "national2019.schema.json")
    schema = json.loads((folder / "national2019.schema.json").read_text(encoding="utf-8"))["schema"]
    rows = _read(folder / "national2019.csv.gz")
    known = rows["PINCP_DECILE"] != "N"
    rows = {name: values[known] for name, values in rows.items()}
    levels = {name: [str(value) for value in schema[name]["values"]] for name in AS_THEY_ARE}
    columns: Texts = {name: rows[name] for name in AS_THEY_ARE}
    columns["AGE"], levels["AGE"] = _bands(rows["AGEP"], [*range(20, 90, 5)], "")
    columns["POVERTY"], levels["POVERTY"] = _bands(rows["POVPIP"], [50, 100, 150, 200, 300, 400, 501], "N")
    columns["INCOME"] = np.where(rows["PINCP_DECILE"].astype(int) >= 5, "upper", "lower")
    levels["INCOME"] = ["lower", "upper"]
    held_out = np.random.default_rng(2019).random(int(known.sum())) < 0.2
    train, test = ({name: c[part] for name, c in columns.items()} for part in (~held_out, held_out))
    return _task("ACS", train, test, levels, "INCOME")


TASKS: dict[str, Callable[[], Task]] = {"Adult": adult, "ACS": acs}


def _folder(name: str, *files: str) -> Path:
    root = os.environ.get("UNDERSTUDY_DATA")
    if not root:
        raise Absent("UNDERSTUDY_DATA names no folder")
    lacking = [file for file in files if not (Path(root) / name / file).is_file()]
    if lacking:
        raise Absent(f"the folder of UNDERSTUDY_DATA lacks {', '.join(f'{name}/{file}' for file in lacking)}")
    return Path(root) / name


def _read(path: Path) -> Texts:
    with pyarrow.csv.open_csv(path) as peek:
        names = peek.schema.names
    convert = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, quoted_strings_can_be_null=False
    )
    found = pyarrow.csv.read_csv(path, convert_options=convert)
    return {name: found.column(name).to_numpy() for name in names}


def _bands(values: npt.NDArray[Any], edges: Sequence[int], unknown: str) -> tuple[npt.NDArray[Any], list[str]]:
    """Text of the band's lower edge; ``unknown`` is a level of its own."""
    names = np.array(["below", *map(str, edges)])
    is_known = values != unknown
    bands = np.full(len(values), unknown, dtype=object)
    bands[is_known] = names[np.digitize(values[is_known].astype(float), edges)]
    return bands, [*names.tolist(), *([unknown] if unknown else [])]


def _task(title: str, train: Texts, test: Texts, levels: dict[str, list[str]], target: str) -> Task:
    book = Codebook(columns=tuple(Categorical(name=name, levels=tuple(levels[name])) for name in levels))

    def codes(texts: Texts) -> list[npt.NDArray[np.unsignedinteger]]:
        found = []
        for column in book.modelled:
            assert isinstance(column, Categorical)
            kind = code_type(column.size)
            found.append(np.array([column.code_of[str(text)] for text in texts[column.name]], dtype=kind))
        return found

    rows = codes(train)
    return Task(title=title, table=Table.of(book, rows), train=rows, test=codes(test), target=target)
