"""Small linked codebooks with data, for tests of histories."""

import datetime as dt
from fractions import Fraction

import numpy as np
import pyarrow as pa

from understudy.codebook import Categorical, Codebook, Integer, LinkedCodebook, LinkedTable
from understudy.codebook.columns import Dates, Grain, Ordinal
from understudy.codebook.linked_rules import Last, NothingAfter
from understudy.codebook.rules import Implies, Impossible, Order

START = dt.date(2000, 1, 1)


def days(name, **more):
    return Dates(name=name, grain=Grain.DAY, start=START, end=dt.date(2009, 12, 31), **more)


def hospital(*, stays=3, diagnoses=2):
    """Patients, their stays by date, the diagnoses of each: rules across all three."""
    patients = LinkedTable(
        name="patients",
        key="pid",
        book=Codebook(columns=(Categorical(name="sex", levels=("F", "M")), days("died", missing=""))),
    )
    stays_table = LinkedTable(
        name="stays",
        key="sid",
        parent="patients",
        parent_key="pid",
        cap=stays,
        order="admitted",
        book=Codebook(
            columns=(
                days("admitted"),
                days("left"),
                Integer(name="age", edges=tuple(map(Fraction, (0, 20, 40, 60, 100)))),
                Categorical(name="ward", levels=("A", "B", "delivery")),
                Categorical(name="end", levels=("home", "dead")),
            ),
            constraints=(Order(low="admitted", relation="<=", high="left"),),
        ),
    )
    diagnoses_table = LinkedTable(
        name="diagnoses",
        parent="stays",
        parent_key="sid",
        cap=diagnoses,
        book=Codebook(columns=(Categorical(name="code", levels=("x", "y", "z")), days("on"))),
    )
    return LinkedCodebook(
        tables=(patients, stays_table, diagnoses_table),
        rules=(
            NothingAfter(end="patients.died", dates=("stays.admitted", "stays.left", "diagnoses.on")),
            Last(cells=(("stays.end", ("dead",)),)),
            Impossible(cells=(("patients.sex", ("M",)), ("stays.ward", ("delivery",)))),
            Order(low="stays.previous.age", relation="<=", high="stays.age"),
            Order(low="stays.admitted", relation="<=", high="diagnoses.on"),
            Order(low="diagnoses.on", relation="<=", high="stays.left"),
        ),
    )


def hospital_data(people, seed=0, *, called="p"):
    """People whose histories keep the rules of :func:`hospital`; some have more rows than the caps allow.

    Their ids begin with ``called``.
    """
    chance = np.random.default_rng(seed)
    patients = {"pid": [], "sex": [], "died": []}
    stays = {"sid": [], "pid": [], "admitted": [], "left": [], "age": [], "ward": [], "end": []}
    diagnoses = {"sid": [], "code": [], "on": []}
    for person in range(people):
        sex, day, age = "FM"[chance.integers(2)], int(chance.integers(2000)), int(chance.integers(80))
        died, number = None, int(chance.integers(5))
        for visit in range(number):
            day += int(chance.integers(100))
            left = day + int(chance.integers(15))
            end = "dead" if visit == number - 1 and chance.random() < 0.3 else "home"
            ward = str(chance.choice(["A", "B", "B"] if sex == "M" else ["A", "A", "delivery"]))
            age += int(chance.integers(2))
            row = (f"s{person}-{visit}", f"{called}{person}", _day(day), _day(left), age, ward, end)
            for name, value in zip(stays, row, strict=True):
                stays[name].append(value)
            for _ in range(int(chance.integers(4))):
                on = int(chance.integers(day, left + 1))
                for name, value in zip(diagnoses, (row[0], str(chance.choice(list("xyz"))), _day(on)), strict=True):
                    diagnoses[name].append(value)
            day, died = left, _day(left) if end == "dead" else None
        for name, value in zip(patients, (f"{called}{person}", sex, died), strict=True):
            patients[name].append(value)
    dated = {"died": pa.date32(), "admitted": pa.date32(), "left": pa.date32(), "on": pa.date32(), "age": pa.int64()}
    return {
        name: pa.table({key: pa.array(values, dated.get(key, pa.string())) for key, values in table.items()})
        for name, table in (("patients", patients), ("stays", stays), ("diagnoses", diagnoses))
    }


def _day(number):
    return START + dt.timedelta(number)


def random_book(seed):
    """A linked codebook of two or three levels with rules across tables, and data that need not keep them."""
    chance = np.random.default_rng(seed)
    word = iter("abcdefghijklmnop")

    def column():
        levels = tuple("uvwxyz"[: int(chance.integers(2, 5))])
        kind = Ordinal if chance.random() < 0.4 else Categorical
        return kind(name=next(word), levels=levels, missing="" if chance.random() < 0.3 else None)

    people = LinkedTable(name="people", key="id", book=Codebook(columns=(column(), column())))
    tables, rules = [people], []
    for number in range(int(chance.integers(1, 3))):
        parent = tables[int(chance.integers(len(tables)))]
        columns = (column(), column())
        order = next((one.name for one in columns if isinstance(one, Ordinal) and one.missing is None), "turn")
        table = LinkedTable(
            name=f"rows{number}",
            key=f"key{number}",
            parent=parent.name,
            parent_key=parent.key,
            cap=int(chance.integers(1, 4)),
            order=order,
            book=Codebook(columns=columns),
        )
        above, own, other = parent.book.columns[0], columns[0], columns[1]
        rules.append(Impossible(cells=((parent.spelled(above.name), ("u",)), (table.spelled(own.name), ("u",)))))
        rules.append(
            Implies(when=((parent.spelled(above.name), ("v",)),), then=((table.spelled(other.name), ("u", "v")[:2]),))
        )
        if chance.random() < 0.5:
            rules.append(Last(cells=((table.spelled(other.name), ("v",)),)))
        if chance.random() < 0.5 and table.cap > 1:
            before = f"{table.name}.previous.{own.name}"
            rules.append(Impossible(cells=((before, ("v",)), (table.spelled(own.name), ("v",)))))
        tables.append(table)
    return LinkedCodebook(tables=tuple(tables), rules=tuple(rules))
