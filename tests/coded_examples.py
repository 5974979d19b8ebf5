"""Linked tables with detailed codes, for tests: three diagnoses of every stay share one list, and a list of its own."""

import numpy as np
import pyarrow as pa

from understudy.codebook import Categorical, Codebook, Coded, Detail, LinkedCodebook, LinkedTable, Pack

CODES = Pack(
    name="small",
    text="# source: made up\ncode,block,chapter\n"
    + "".join(f"{c}{n},{c}-{n // 5},{c}\n" for c in "ABC" for n in range(10)),
)


NAMES = ("patients", "stays", "drugs")
PLANS = [("public", "p1"), ("public", "p2"), ("own", "o1"), ("", "")]


def coded_book(cap=3, *, positions=3):
    """Patients with a kind of insurance, stays with some diagnoses, drugs of each stay."""
    patients = LinkedTable(name="patients", key="pid", book=Codebook(columns=(sex(), payer(), plan())))
    diagnoses = tuple(Coded(name=f"diag_{n}", pack=CODES, missing="?") for n in range(1, positions + 1))
    stays = LinkedTable(
        name="stays", key="sid", parent="patients", parent_key="pid", cap=cap, order="turn",
        book=Codebook(columns=(Categorical(name="ward", levels=("u", "v")), *diagnoses)),
    )  # fmt: skip
    drugs = LinkedTable(
        name="drugs", parent="stays", parent_key="sid", cap=2,
        book=Codebook(columns=(Coded(name="reason", pack=CODES, missing="?"),)),
    )  # fmt: skip
    return LinkedCodebook(tables=(patients, stays, drugs))


def sex():
    return Categorical(name="sex", levels=("F", "M"))


def payer():
    return Categorical(name="payer", levels=("public", "own"), missing="")


def plan():
    groups = (("public", ("p1", "p2", "p3")), ("own", ("o1", "o2")))
    return Detail(name="plan", detail_of="payer", other="other", groups=groups, missing="")


def coded_data(people, seed=0):
    """Everybody's codes begin with the letter of their ward's chapter; A0, A1 and B5 are frequent."""
    chance = np.random.default_rng(seed)
    patients, stays, drugs = [], [], []
    for person in range(people):
        payer_, plan_ = PLANS[chance.choice(4, p=[0.5, 0.2, 0.2, 0.1])]
        patients.append({"pid": f"p{person}", "sex": "FM"[chance.integers(2)], "payer": payer_, "plan": plan_})
        for turn in range(int(chance.integers(0, 5))):
            ward = "uv"[chance.integers(2)]
            frequent = ["A0", "A1", "A1", "A7"] if ward == "u" else ["B5", "B5", "B6", "?"]
            codes = [str(chance.choice(frequent)) for _ in range(3)]
            row = {"sid": f"s{person}-{turn}", "pid": f"p{person}", "turn": turn, "ward": ward}
            stays.append(row | {f"diag_{n}": code for n, code in enumerate(codes, 1)})
            drugs += [{"sid": row["sid"], "reason": codes[k]} for k in range(int(chance.integers(0, 3)))]
    return {name: pa.Table.from_pylist(rows) for name, rows in zip(NAMES, (patients, stays, drugs), strict=True)}
