"""Rules, sub-populations and detailed codes by hand-made cases, and what a person is told about mistakes."""

from dataclasses import replace
from datetime import date
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from registry_examples import examples_with

from understudy.codebook import (
    Categorical,
    Codebook,
    Dates,
    Detail,
    Determines,
    Grain,
    Implies,
    Impossible,
    Integer,
    Order,
    Ordinal,
    Role,
    Text,
)
from understudy.codebook.declare import declare_text
from understudy.codebook.decode import decode_table
from understudy.errors import CodebookError, ParameterError, RefusalError
from understudy.mechanisms.stream import Stream
from understudy.privacy import ApproxDP, Neighbours, NoFormal
from understudy.sources import open_source
from understudy.sources.check import check_table
from understudy.synth import METHODS, Contingency, Imputation, LaplaceHistogram, Marginals, PeGS, make_recipe
from understudy.synth.model_file import load_model

SEX = Categorical(name="sex", levels=("F", "M"), missing="NA")
ADMISSION = Categorical(name="adm", levels=("newborn", "urgent"))
AGE = Integer(name="age", edges=tuple(map(Fraction, (0, 1, 18, 100))), missing="NA")
ZIP = Categorical(name="zip", levels=("84101", "84102", "84401"))
COUNTY = Categorical(name="county", levels=("Salt Lake", "Weber"))
NEWBORN = Implies(name="newborn", when=(("adm", ("newborn",)),), then=(("age", ("0",)),))
PLACE = Determines(column="zip", sets="county", groups=(("Salt Lake", ("84101", "84102")), ("Weber", ("84401",))))


def book_of(*columns, rules=()):
    return Codebook(columns=columns, constraints=tuple(rules))


def fits(book, *labels):
    return bool(
        book.allowed.fits([np.array([c.labels.index(text)]) for c, text in zip(book.modelled, labels, strict=True)])[0]
    )


def test_a_missing_value_satisfies_a_rule_that_does_not_name_it():
    book = book_of(ADMISSION, AGE, rules=[NEWBORN])
    assert fits(book, "newborn", "[0, 1)")
    assert fits(book, "newborn", "NA")
    assert not fits(book, "newborn", "[1, 18)")
    strict = book_of(ADMISSION, AGE, rules=[NEWBORN, Impossible(cells=(("adm", ("newborn",)), ("age", ("NA",))))])
    assert not fits(strict, "newborn", "NA")
    assert fits(strict, "urgent", "NA")


def test_a_determined_column_may_be_missing_and_a_missing_one_determines_nothing():
    zips, county = replace(ZIP, missing="?"), replace(COUNTY, missing="?")
    book = book_of(zips, county, rules=[PLACE])
    assert fits(book, "84401", "Weber") and not fits(book, "84401", "Salt Lake")
    assert fits(book, "84401", "?") and fits(book, "?", "Weber") and fits(book, "?", "?")


def test_orders_are_transitive_and_count_their_steps():
    days = [Dates(name=name, grain=Grain.MONTH, start=date(2024, 1, 1), end=date(2024, 4, 30)) for name in "abc"]
    book = book_of(*days, rules=[Order(low="a", relation="<", high="b"), Order(low="b", relation="<", high="c")])
    good = [row for row in np.ndindex(4, 4, 4) if book.allowed.fits([np.array([code]) for code in row])[0]]
    assert good == [row for row in np.ndindex(4, 4, 4) if row[0] < row[1] < row[2]]
    step = book.allowed.plan((0, 2, 1))[2]  # c after a: two months later at least, b is still to come
    assert step.choices.levels[step.sets([np.array([0])] * 3)[0]].tolist() == [False, False, True, True]


@pytest.mark.parametrize("number", [20, 40, 80])
def test_a_rule_over_many_columns_costs_as_many_steps_as_columns(number):
    """2^80 combinations cannot be laid out; two states per column are enough to read them."""
    columns = [Categorical(name=f"c{k}", levels=("no", "yes")) for k in range(number)]
    every = tuple((column.name, ("no",)) for column in columns[1:])
    rules = [Implies(when=every, then=(("c0", ("no",)),)), Impossible(cells=(("c3", ("yes",)), ("c4", ("yes",))))]
    allowed = book_of(*columns, rules=rules).allowed
    assert sum(layer.size for _, moves in allowed.checks() for layer in moves) <= 4 * (number + 2)
    for order in (range(number), reversed(range(number))):
        steps = [step for step in allowed.plan(tuple(order)) if step is not None]
        assert sum(moves.size for step in steps for moves in step.moves) <= 4 * 2 * number
    assert allowed.possible((0, 1)).all() and allowed.possible((3, 4)).tolist() == [[True, True], [True, False]]
    row = np.zeros((number, 1), dtype=np.int64)
    assert allowed.fits(list(row))[0]
    row[0] = 1
    assert not allowed.fits(list(row))[0]


def test_a_rule_over_many_columns_holds_in_every_row():
    columns = [Categorical(name=f"c{k}", levels=("no", "yes")) for k in range(23)]
    every = tuple((column.name, ("no",)) for column in columns[1:])
    book = book_of(*columns, rules=[Implies(when=every, then=(("c0", ("no",)),))])
    drawn = np.random.default_rng(1).random((23, 3000)) < 0.04
    drawn[0] &= drawn[1:].any(axis=0)
    table = pa.table({column.name: np.where(row, "yes", "no") for column, row in zip(columns, drawn, strict=True)})
    assert check_table(table, book) == []
    made = Marginals(epsilon=1.0, delta=1e-6).fit(open_source(table, book)).sample(3000).table
    assert check_table(made, book) == []
    codes = np.array([np.array(made.column(name)) == "yes" for name in book.names])
    assert (~codes[1:].any(axis=0)).any()  # the rule had something to forbid
    broken = table.set_column(0, "c0", pa.array(["yes"] * 3000))
    [fault] = check_table(broken, book)
    assert fault.count == int((~drawn[1:].any(axis=0)).sum())


def test_numbers_in_one_bin_come_back_in_their_order():
    wide = [Integer(name=name, edges=(Fraction(0), Fraction(10), Fraction(20)), missing="NA") for name in "abc"]
    book = book_of(*wide, rules=[Order(low="a", relation="<", high="b"), Order(low="b", relation="<=", high="c")])
    codes = np.array(list(np.ndindex(3, 3, 3)) * 200).T.astype(np.uint8)
    kept = codes[:, book.allowed.fits(list(codes))]
    table = decode_table(book, list(kept), Stream.seeded(1).below_each)
    for a, b, c in zip(*(table.column(name).to_pylist() for name in "abc"), strict=True):
        assert a is None or b is None or a < b
        assert b is None or c is None or b <= c
        assert a is None or c is None or a < c
    assert check_table(table, book) == []


def test_real_rows_that_break_a_rule_are_listed_and_not_repaired():
    book = book_of(ADMISSION, AGE, ZIP, COUNTY, rules=[NEWBORN, PLACE])
    table = pa.table(
        {
            "adm": ["newborn", "newborn", "urgent", "newborn"],
            "age": [0, 7, 40, None],
            "zip": ["84101", "84401", "84401", "84102"],
            "county": ["Salt Lake", "Weber", "Salt Lake", "Salt Lake"],
        }
    )
    found = check_table(table, book)
    assert [(fault.kind, fault.rows, fault.count) for fault in found] == [
        ("broken rule", (2,), 1),
        ("broken rule", (3,), 1),
    ]
    assert "rule 'newborn' is broken in row 2 (adm = newborn, age = [1, 18)); mend the data" in found[0].sentence
    assert found[0].is_fatal
    counts = open_source(table, book).count([("adm", "age")])[0].open().to_grid()
    assert counts[0, 1] == 1  # counted as it stands


CONFLICTS = {
    "contradiction": (
        [NEWBORN, Impossible(cells=(("age", ("[0, 1)",)),)), Impossible(cells=(("adm", ("urgent",)),)),
         Impossible(cells=(("age", ("NA",)),)), Impossible(cells=(("sex", ("M",)),))],
        ["no row satisfies these 4 rules together", "newborn (adm = newborn means age = 0)", "never adm = urgent"],
    ),
    "unknown column": ([Impossible(cells=(("colour", ("red",)),))], ["'colour', which is not a column of the model"]),
    "unknown level": ([Impossible(cells=(("sex", ("X",)),))], ["'X', which is no level of 'sex'; it has 'F', 'M'"]),
    "part of a bin": ([Impossible(cells=(("age", ("5",)),))], ["shares its bin with other numbers"]),
    "no order": ([Order(low="sex", relation="<", high="age")], ["an order needs two ordinal, two date or two number"]),
    "itself": ([Order(low="age", relation="<", high="age")], ["compares 'age' with itself"]),
    "both sides": ([Implies(when=(("sex", ("F",)),), then=(("sex", ("M",)),))], ["names a column twice"]),
    "two counties": (
        [replace(PLACE, groups=(("Salt Lake", ("84101", "84102")), ("Weber", ("84401", "84101"))))],
        ["gives '84101' two values of 'county'; each determines one"],
    ),
    "left out": ([replace(PLACE, groups=(("Weber", ("84401",)),))], ["leaves out '84101', '84102'; put every level"]),
    "same name": ([NEWBORN, NEWBORN], ["two rules are called 'newborn'"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFLICTS)
def test_bad_rules_are_refused_in_a_sentence(name):
    rules, said = CONFLICTS[name]
    with pytest.raises(CodebookError) as refused:
        book_of(SEX, ADMISSION, AGE, ZIP, COUNTY, rules=rules)
    for words in said:
        assert words in str(refused.value)
    assert "never sex = M" not in str(refused.value)  # it has no part in the conflict


def test_orders_in_a_circle_are_refused():
    columns = [Ordinal(name=name, levels=("1", "2", "3")) for name in "abc"]
    rules = [Order(low=low, relation="<=", high=high) for low, high in ("ab", "bc", "ca")]
    with pytest.raises(CodebookError, match="a <= b; b <= c; c <= a run in a circle"):
        book_of(*columns, rules=rules)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('kind = "never"', "constraint 1 is of kind 'never'; kinds are impossible, implies, order, determines."),
        ('kind = "impossible"', "constraint 1 lacks cells, which impossible needs."),
        ('kind = "impossible"\ncells = 3', "it must be a table of columns and values"),
        ('kind = "impossible"\ncells = { sex = [1.5, [2]] }', "values are levels, bins, numbers or dates"),
        ('kind = "order"\nlow = "a"\nrelation = ">"\nhigh = "b"', 'it must be "<" or "<=". Swap low and high'),
        ('kind = "order"\nlow = "a"\nrelation = "<"\nhigh = "b"\nwhen = 1', "has unknown keys when"),
    ],
)
def test_rules_that_cannot_be_read_say_why(text, said):
    head = 'format = 1\n[[columns]]\nname = "sex"\nkind = "categorical"\nlevels = ["F", "M"]\n[[constraints]]\n'
    with pytest.raises(CodebookError) as refused:
        Codebook.from_toml(head + text)
    assert said in str(refused.value)


def test_rules_survive_an_attestation_and_join_the_assumptions():
    book = book_of(SEX, ADMISSION, AGE, rules=[NEWBORN])
    said = declare_text(book.to_toml(), columns=["sex"], by="A. Meyer", source="form 7", on=date(2024, 5, 1))
    assert Codebook.from_toml(said).constraints == book.constraints
    assert "were not read off the data (newborn)" in " ".join(
        Marginals(epsilon=1.0, delta=1e-6).quote(book, 5).ledger.assumptions
    )


def test_where_rules_leave_fewer_levels_than_l_nothing_is_claimed():
    book = book_of(ADMISSION, AGE, rules=[NEWBORN])
    for method in ("lugs", "pegs"):
        total = make_recipe(method, l=1.2).quote(book, 10).total
        assert isinstance(total, NoFormal) and "rules narrow age" in total.why


def patients(rows=4000, seed=1):
    generator = np.random.default_rng(seed)
    newborn = generator.random(rows) < 0.2
    place = generator.choice(3, rows, p=[0.5, 0.3, 0.2])
    return pa.table(
        {
            "adm": np.where(newborn, "newborn", "urgent"),
            "age": np.where(newborn, 0, generator.integers(1, 100, rows)),
            "zip": np.array(ZIP.levels)[place],
            "county": np.array(COUNTY.levels)[place // 2],
        }
    )


@pytest.fixture(scope="module")
def book():
    return book_of(ADMISSION, AGE, ZIP, COUNTY, rules=[NEWBORN, PLACE])


@pytest.fixture(scope="module")
def source(book):
    return open_source(patients(), book)


RECIPES = examples_with(
    {
        **{key: {"epsilon": 5.0} for key in ("marginals", "laplace", "sba")},
        **{key: {"epsilon": 20.0, "parents": "full"} for key in ("sbhg", "sbhg-gauss")},
        "privbayes": {"epsilon": 5.0, "public_rows": 4000},
        **{key: {"engines": "blocks"} for key in ("pmi", "imputation")},
        "lugs": {"l": 1.1},
        "plugs": {"l": 1.1, "processes": 1},
    }
)
WHERE = [name for name, cls in METHODS.items() if cls.route == "N" or name in ("contingency", "gibbs")]
"""Where a sub-population costs nothing: tables are released once, or there is no promise to pay for."""


@pytest.mark.parametrize("method", WHERE)
def test_rows_of_a_sub_population_are_free(method, source, book, tmp_path):
    recipe = make_recipe(method, **RECIPES[method])
    fitted = recipe.fit(source)
    release = fitted.sample(500, where={"county": "Weber", "age": ["[1, 18)", "[18, 100]"]})
    assert release.manifest.total == recipe.quote(book, 500).total
    assert release.manifest.parameters["where"] == {"county": ["Weber"], "age": ["[1, 18)", "[18, 100]"]}
    assert "sub-population county = Weber and age = [1, 18) or [18, 100]" in release.manifest.warnings[-1]
    found = release.table.to_pydict()
    assert set(found["county"]) == {"Weber"} and set(found["zip"]) == {"84401"} and set(found["adm"]) == {"urgent"}
    assert len(found["age"]) == 500 and min(found["age"]) >= 1
    if recipe.route == "N":
        drawn = load_model(fitted.save_model(tmp_path / "model")).sample(50, where={"adm": "newborn"})
        assert set(drawn.table.to_pydict()["age"]) <= {0, None}  # what is missing satisfies a rule


@pytest.mark.parametrize("method", ["contingency", "privbayes", "gibbs"])
def test_a_sub_population_has_the_law_of_the_rows_that_would_be_kept(method, source):
    """Share of a ZIP code in its county, against rows filtered by hand: 6 sigma of a difference of two shares."""
    fitted = make_recipe(method, **RECIPES[method]).fit(source)
    asked = fitted.sample(20_000, where={"county": "Salt Lake"}).table.to_pydict()["zip"]
    whole = fitted.sample(60_000).table.to_pydict()
    kept = [z for z, county in zip(whole["zip"], whole["county"], strict=True) if county == "Salt Lake"]
    shares = asked.count("84101") / len(asked), kept.count("84101") / len(kept)
    deviation = (0.25 / len(asked) + 0.25 / len(kept)) ** 0.5
    assert abs(shares[0] - shares[1]) < 7 * deviation


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(WHERE)))
def test_a_sub_population_is_refused_where_it_would_cost(method, source):
    fitted = make_recipe(method, **RECIPES[method]).fit(source)
    with pytest.raises(RefusalError, match="route N"):
        fitted.sample(5, where={"county": "Weber"})


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"colour": "red"}, "`where` names 'colour'; the columns of the model are adm, age, zip, county."),
        ({"county": "Utah"}, "'Utah' is no level of 'county'; it has 'Salt Lake', 'Weber'"),
        ({"age": "7"}, "numbers are named by their whole bin"),
        ({"county": []}, "gives no value for 'county'"),
        ({}, "name columns and values"),
        ({"adm": "newborn", "age": "[1, 18)"}, "no row with these values of adm and age satisfies the rules"),
    ],
)
def test_a_bad_sub_population_is_refused_before_anything_is_paid(where, said, source):
    with pytest.raises(ParameterError) as refused:
        LaplaceHistogram(epsilon=5.0).fit(source).sample(5, where=where)
    assert said in str(refused.value)


def test_a_sub_population_that_hardly_exists_ends_in_a_refusal(source, monkeypatch):
    monkeypatch.setattr("understudy.synth.ways.wanted._MOST_DRAWN", 3000)
    monkeypatch.setattr("understudy.synth.ways.wanted._MOST_EACH", 0)
    with pytest.raises(RefusalError, match=r"of 3,\d\d\d rows drawn .* the sub-population is too rare|too rare"):
        make_recipe("privbayes", epsilon=5.0, public_rows=4000).fit(source).sample(5000, where={"zip": "84401"})


def test_real_values_that_a_partial_synthesis_keeps_must_keep_the_rules(book):
    table = patients(200).set_column(3, "county", pa.array(["Weber"] * 200))
    fitted = Imputation(engines="blocks", synthesis="partial", columns=("age",)).fit(open_source(table, book))
    with pytest.raises(RefusalError, match="break a rule of the codebook in values that this synthesis keeps"):
        fitted.sample(200)
    made = Imputation(engines="blocks", synthesis="full", columns=("age",)).fit(open_source(table, book)).sample(100)
    assert check_table(made.table, book) == []


CODES = (("heart", tuple(f"41{k}" for k in range(6))), ("lung", tuple(f"48{k}" for k in range(6))))
CHAPTER = Categorical(name="chapter", levels=("heart", "lung", "none"))
ICD = Detail(name="icd", detail_of="chapter", groups=CODES, other="other", missing="NA")
DETAILED = Codebook(columns=(SEX, ICD, CHAPTER))


def coded(rows=6000):
    generator = np.random.default_rng(4)
    chapter = generator.choice(3, rows, p=[0.5, 0.3, 0.2])
    code = np.minimum(generator.geometric(0.6, rows) - 1, 5)
    names = [
        "other" if c == 2 else None if n % 50 == 0 else CODES[c][1][k]
        for n, (c, k) in enumerate(zip(chapter, code, strict=True))
    ]
    sex = generator.choice(["F", "M"], rows)
    return pa.table({"sex": sex, "chapter": np.array(CHAPTER.levels)[chapter], "icd": pa.array(names)})


@pytest.mark.parametrize("method", ["marginals", "pegs", "laplace", "sbhg", "contingency", "lugs"])
def test_details_belong_to_their_level_and_follow_its_counts(method, tmp_path):
    options = RECIPES[method]
    paying = {} if method == "contingency" else {"detail_epsilon": 4.0, "detail_delta": 1e-6}
    recipe = make_recipe(method, **options, **paying)
    table = coded()
    fitted = recipe.fit(open_source(table, DETAILED))
    made = fitted.sample(20_000).table
    assert made.column_names == ["sex", "icd", "chapter"]
    assert check_table(made, DETAILED) == []
    rows = list(zip(made.column("chapter").to_pylist(), made.column("icd").to_pylist(), strict=True))
    parent = {code: group for group, codes in CODES for code in codes}
    assert all(code in (None, "other") or parent[code] == chapter for chapter, code in rows)
    real = [
        c
        for ch, c in zip(table.column("chapter").to_pylist(), table.column("icd").to_pylist(), strict=True)
        if ch == "heart"
    ]
    drawn = [code for chapter, code in rows if chapter == "heart"]
    for code in ("410", "411"):
        chance = real.count(code) / len(real)
        # 7 sigma of the draw, and noise: scale 1/3.6 on the code, 1/0.4 on a level of 3,000 records, 30 scales each
        slack = 7 * (chance / len(drawn)) ** 0.5 + 30 * (1 / 3.6 + 1 / 0.4) / 2500
        assert abs(drawn.count(code) / len(drawn) - chance) < slack
    total = recipe.quote(DETAILED, 10).total
    if method == "marginals":
        assert isinstance(total, ApproxDP) and 8.9 < total.epsilon <= 9 and total.delta <= 2e-6
        again = load_model(fitted.save_model(tmp_path / "m")).sample(300, where={"chapter": "none"}).table
        assert set(again.column("icd").to_pylist()) == {"other"}


def test_rare_details_are_withheld_and_become_other():
    """With one record per code and a threshold above 10, no code of the file can be told."""
    codes = tuple(f"c{k}" for k in range(400))
    book = Codebook(
        columns=(SEX, CHAPTER, Detail(name="icd", detail_of="chapter", groups=(("heart", codes),), other="other"))
    )
    table = pa.table({"sex": ["F"] * 400, "chapter": ["heart"] * 400, "icd": list(codes)})
    recipe = LaplaceHistogram(epsilon=9.0, detail_epsilon=1.0, detail_delta=1e-9)
    made = recipe.fit(open_source(table, book)).sample(500).table.to_pydict()
    # delta 1e-9 per code bounds the chance that any shows by 4e-7; noise on the other cells is none of this test's
    assert set(made["icd"]) == {"other"}
    entries = [entry for entry in recipe.quote(book, 5).ledger if entry.stage == "details"]
    assert [entry.event.kind for entry in entries] == ["geometric-histogram", "stability-histogram"]
    assert all(entry.event.neighbours is Neighbours.ADD_REMOVE for entry in entries)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"groups": (*CODES, ("none", ("410",)))}, "the detail code '410' two parents, 'heart' and 'none'"),
        ({"other": None}, "has no other; name the code that rare details fall back to"),
        ({"detail_of": "sex ratio"}, "is a detail of 'sex ratio', which is not a column of the model"),
        ({"groups": (("liver", ("571",)),)}, "groups codes under 'liver', which is no level of 'chapter'"),
        ({"groups": ()}, "has no codes"),
        ({"other": "410"}, "has its other, '410', in a group"),
        ({"parents": ("sex",)}, "which is its only parent"),
    ],
)
def test_bad_details_are_refused_in_a_sentence(change, said):
    with pytest.raises(CodebookError) as refused:
        Codebook(columns=(SEX, CHAPTER, replace(ICD, **change)))
    assert said in str(refused.value)


def test_details_need_a_price_of_their_own_and_only_where_there_are_some():
    shared = Marginals(epsilon=1.0, delta=1e-6).quote(DETAILED, 5).total
    assert shared.epsilon <= 1.0 and shared.delta <= 1e-6
    for recipe in (PeGS(alpha=1.0), LaplaceHistogram(epsilon=1.0)):  # no epsilon, or no delta, to share out
        with pytest.raises(ParameterError, match="give `detail_epsilon` and `detail_delta`"):
            recipe.quote(DETAILED, 5)
    with pytest.raises(ParameterError, match="the codebook has none"):
        PeGS(alpha=1.0, detail_epsilon=1.0, detail_delta=1e-6).quote(Codebook(columns=(SEX,)), 5)
    for bad in ({"detail_epsilon": 0.0, "detail_delta": 1e-6}, {"detail_epsilon": 1.0, "detail_delta": 1.0}):
        with pytest.raises(ParameterError, match="`detail_"):
            Marginals(epsilon=1.0, delta=1e-6, **bad).quote(DETAILED, 5)
    assert isinstance(Contingency().quote(DETAILED, 5).total, NoFormal)


def test_a_detail_under_the_wrong_level_is_listed():
    table = pa.table({"sex": ["F", "F"], "chapter": ["heart", "lung"], "icd": ["480", "480"]})
    [fault] = check_table(table, DETAILED)
    assert fault.kind == "broken rule" and fault.rows == (1,)
    assert "icd belongs to chapter" in fault.sentence


def test_a_detailed_codebook_reads_back_and_its_levels_are_attested():
    book = Codebook(columns=(SEX, ICD, CHAPTER, Text(name="id", role=Role.IDENTIFIER)))
    assert Codebook.from_toml(book.to_toml()) == book
    assert [column.name for column in book.released] == ["sex", "icd", "chapter"]
    assert book.names == ("sex", "chapter")
    assert any("sex, icd, chapter are public knowledge" in said for said in book.assumptions)
