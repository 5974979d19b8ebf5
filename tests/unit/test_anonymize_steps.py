"""Every step of a recipe, by hand on small tables; and recipes that contradict themselves."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from understudy.anonymize import (
    AddNoise,
    Bin,
    BottomCode,
    Drop,
    FullDomain,
    Generalise,
    GroupLevels,
    GroupRare,
    Keep,
    Mondrian,
    RankSwap,
    Recipe,
    Round,
    Rule,
    SuppressCells,
    SuppressRows,
    Swap,
    TopCode,
    anonymize,
    load_recipe,
    read_recipe,
)
from understudy.anonymize.recipe import STEPS
from understudy.codebook import Categorical, Codebook, Integer, Ordinal, Origin, Role
from understudy.codebook.encode import encode_value
from understudy.errors import CodebookError, DataError, ParameterError, RefusalError
from understudy.mechanisms import Stream
from understudy.privacy import KAnonymous, NoFormal
from understudy.sources import EncodedSource

PLACES = ("75217", "75211", "76101")
QI = Role.QUASI_IDENTIFIER


def book():
    return Codebook(
        columns=(
            Categorical(name="zip", levels=PLACES, role=QI),
            Integer(name="age", edges=tuple(Fraction(e) for e in range(0, 101, 5)), role=QI, missing="NA"),
            Ordinal(name="stay", levels=("short", "middle", "long")),
            Categorical(name="why", levels=("birth", "flu", "HIV"), role=Role.SENSITIVE),
        )
    )


ROWS = [
    ("75217", 3, "short", "birth"),
    ("75217", 4, "short", "birth"),
    ("75211", 31, "long", "flu"),
    ("75211", 33, "middle", "HIV"),
    ("76101", 97, "long", "flu"),
    ("76101", None, "long", "flu"),
]


def source(rows=ROWS):
    columns = [
        np.array([encode_value(column, row[place]) for row in rows], dtype=np.uint8)
        for place, column in enumerate(book().modelled)
    ]
    return EncodedSource(codebook=book(), columns=columns)


def made(*steps, seed=None, **more):
    stream = None if seed is None else Stream.seeded(seed)
    return anonymize(source(), Recipe(steps=steps, **more), stream=stream).release


def column(release, name):
    return Counter(release.table.column(name).to_pylist())


def test_variable_reduction():
    assert made(Keep(columns=("zip", "why"))).table.column_names == ["zip", "why"]
    assert made(Drop(columns=("age", "stay"))).table.column_names == ["zip", "why"]
    with pytest.raises(ParameterError, match="no column 'age' at this point"):
        made(Drop(columns=("age",)), TopCode(column="age", at=50))
    with pytest.raises(ParameterError, match="leaves no column"):
        made(Drop(columns=("zip", "age", "stay", "why")))
    with pytest.raises(ParameterError, match="no quasi-identifier"):
        made(Keep(columns=("stay", "why")))


def test_top_and_bottom_coding_of_numbers_and_levels():
    release = made(TopCode(column="age", at=35), BottomCode(column="age", at=10), TopCode(column="stay", at="middle"))
    assert column(release, "age") == {"[0, 10)": 2, "[30, 35)": 2, "[35, 100]": 1, None: 1}
    assert column(release, "stay") == {"short": 2, "middle or more": 4}
    assert column(made(BottomCode(column="stay", at="middle")), "stay") == {"middle or less": 3, "long": 3}
    with pytest.raises(ParameterError, match=r"no bin that begins there; near it are 35\.0"):
        made(TopCode(column="age", at=36))
    with pytest.raises(CodebookError, match="needs a number or an ordinal"):
        made(TopCode(column="why", at="flu"))


def test_bins_and_rounding():
    assert column(made(Bin(column="age", width=50)), "age") == {"[0, 50)": 4, "[50, 100]": 1, None: 1}
    assert column(made(Bin(column="age", edges=(30, 35))), "age") == {
        "[0, 30)": 2,
        "[30, 35)": 2,
        "[35, 100]": 1,
        None: 1,
    }
    with pytest.raises(ParameterError, match="edge 7, which the codebook's bins do not have"):
        made(Bin(column="age", edges=(7,)))
    with pytest.raises(ParameterError, match="edges or a width"):
        Bin(column="age")
    assert column(made(Round(column="age", to=10)), "age") == {"0": 2, "30": 2, "100": 1, None: 1}
    with pytest.raises(ParameterError, match=r"round to 0 and 3; add the edge 1.5"):
        made(Round(column="age", to=3))
    with pytest.raises(CodebookError, match="only numbers are rounded"):
        made(Round(column="zip", to=3))


def test_groups_by_name_and_by_rarity():
    release = made(GroupLevels(column="why", levels=("flu", "HIV"), into="infection"))
    assert column(release, "why") == {"birth": 2, "infection": 4}
    assert release.manifest.record_wise
    rare = made(GroupRare(column="why", below=2))
    # HIV alone would still be rare: the next rarest joins it
    assert column(rare, "why") == {"other": 3, "flu": 3}
    assert rare.codebook.column("why").origin is Origin.DRAFTED
    assert not rare.manifest.record_wise
    assert column(made(GroupRare(column="stay", below=2, into="long")), "stay") == {"short": 2, "long": 4}
    with pytest.raises(ParameterError, match="no level 'cold'"):
        made(GroupLevels(column="why", levels=("cold",), into="x"))


def test_generalise_to_a_declared_step():
    release = made(
        Generalise(column="zip", to="first 3"),
        Generalise(column="age", to=2),
        hierarchies={"zip": Rule(prefix=(3,)), "age": Rule(intervals=(10, 50))},
    )
    assert column(release, "zip") == {"752**": 4, "761**": 2}
    assert column(release, "age") == {"0-49": 4, "50-100": 1, None: 1}
    assert release.manifest.record_wise


def test_suppression_of_cells_and_rows():
    release = made(SuppressCells(columns=("why",), when=("HIV",)))
    assert column(release, "why") == {"birth": 2, "flu": 3, "*": 1}
    rare = made(SuppressCells(columns=("zip", "age"), rarer_than=2, among=("zip", "age")))
    assert column(rare, "zip") == {"75217": 2, "75211": 2, "*": 2}
    assert column(rare, "age") == {"[0, 5)": 2, "[30, 35)": 2, "*": 2}  # the missing age is starred too
    assert made(SuppressRows(column="why", when=("flu",))).table.num_rows == 3
    assert made(SuppressRows(rarer_than=2)).table.num_rows == 4  # among the quasi-identifiers
    with pytest.raises(ParameterError, match="one of them"):
        SuppressRows()
    with pytest.raises(RefusalError, match="left no row"):
        made(SuppressRows(rarer_than=50))


def test_rank_swapping_keeps_shares_and_loosens_rows():
    n = 4000
    table = pa.table({"x": [str(i % 50) for i in range(n)], "y": [str(i % 50) for i in range(n)]})
    levels = tuple(str(i) for i in range(50))
    columns = (Ordinal(name="x", levels=levels, role=QI), Ordinal(name="y", levels=levels))
    recipe = Recipe(steps=(RankSwap(columns=("y",), share=0.1),))
    release = anonymize(us.open(table, Codebook(columns=columns)), recipe, stream=Stream.from_system()).release
    assert column(release, "y") == Counter(table.column("y").to_pylist())
    pairs = [(int(x), int(y)) for x, y in zip(*(release.table.column(c).to_pylist() for c in "xy"), strict=True)]
    gaps = np.array([abs(x - y) for x, y in pairs])
    # a partner is at most 400 ranks away, that is 5 levels of 80 rows and one for the ends
    assert gaps.max() <= 6
    # all but the last few find a partner; the mean distance of partners is about 200 ranks, 2.5 levels
    assert 1.5 < gaps.mean() < 3.5
    with pytest.raises(CodebookError, match="have ranks"):
        made(RankSwap(columns=("zip",), share=0.1))


@pytest.mark.parametrize("within", [None, ("county",)])
def test_swapping_needs_no_order_and_keeps_the_shares_within(within):
    """zip and street trade together; of n records of one county all find a partner, but for an odd one."""
    n = 3000
    levels = tuple(map(str, range(30)))
    table = pa.table(
        {
            "id": [str(i % 1000) for i in range(n)],
            "zip": [levels[i % 30] for i in range(n)],
            "street": [levels[(7 * i + i // 30) % 30] for i in range(n)],
            "county": [levels[i % 30 // 10] for i in range(n)],
        }
    )
    columns = [Categorical(name=name, levels=levels) for name in ("zip", "street", "county")]
    book = Codebook(columns=(Categorical(name="id", levels=tuple(map(str, range(1000))), role=QI), *columns))

    def swapped(share):
        recipe = Recipe(steps=(Swap(columns=("zip", "street"), share=share, within=within),))
        return anonymize(us.open(table, book), recipe, stream=Stream.from_system()).release.table

    def shares(rows, *names):
        return Counter(zip(*(rows.column(name).to_pylist() for name in names), strict=True))

    every = swapped(1.0)
    kept = ("zip", "street", *(within or ()))
    assert shares(every, *kept) == shares(table, *kept)  # exactly
    assert shares(every, "id", "county") == shares(table, "id", "county")  # what is not swapped stays
    whole = ("id", "zip", "street", "county")
    # a partner is one of at least 999 others, of whom hardly any has the same values: nearly every record changes
    assert sum((shares(every, *whole) & shares(table, *whole)).values()) < 0.2 * n
    # 300 records take part, and no more can change
    assert sum((shares(swapped(0.1), *whole) & shares(table, *whole)).values()) >= n - 300


def test_swapping_refuses_what_would_change_nothing():
    with pytest.raises(ParameterError, match="`within` names 'zip'"):
        Swap(columns=("zip",), share=0.1, within=("zip",))
    assert made(Swap(columns=("why",), share=0.1)).table.num_rows == 6  # fewer than two records take part


def test_noise_is_added_in_steps_and_cut_off():
    n = 5000
    edges = tuple(Fraction(e) for e in range(0, 102))
    columns = (Categorical(name="q", levels=("a", "b"), role=QI), Integer(name="x", edges=edges))
    table = pa.table({"q": ["a"] * n, "x": [50] * n})
    for law in ("gaussian", "laplace"):
        recipe = Recipe(steps=(AddNoise(column="x", scale=4, law=law),))
        release = anonymize(us.open(table, Codebook(columns=columns)), recipe).release
        values = np.array(release.table.column("x").to_pylist())
        assert values.min() >= 0 and values.max() <= 101
        deviation = 4.0 if law == "gaussian" else 4 * 2**0.5
        # z = 7: the mean's error is deviation / sqrt(n), the variance's relative error sqrt(5 / n) at most (Laplace)
        assert abs(values.mean() - 50) < 7 * deviation / n**0.5
        assert abs(values.var() / deviation**2 - 1) < 7 * (5 / n) ** 0.5 + 0.02
        assert release.manifest.total == KAnonymous(k=n)  # of q alone: noise neither adds to it nor takes away
    with pytest.raises(ParameterError, match="gaussian, laplace"):
        AddNoise(column="x", scale=1, law="cauchy")


def test_a_seed_can_undo_random_steps():
    release = made(
        AddNoise(column="age", scale=5.0), Generalise(column="zip", to="*"), Generalise(column="age", to="*"), seed=1
    )
    assert isinstance(release.manifest.total, NoFormal) and "seeded" in release.manifest.total.why
    plain = made(Mondrian(k=2), seed=1)  # nothing was drawn
    assert plain.manifest.total == KAnonymous(k=plain.manifest.anonymity["measured"]["k"])


def test_k_by_columns_and_by_boxes():
    rule = {"zip": Rule(prefix=(3,)), "age": Rule(intervals=(10, 50))}
    release = made(FullDomain(k=2, suppression=0.0, loss="height"), hierarchies=rule)
    assert release.manifest.total == KAnonymous(k=2)
    assert release.manifest.parameters["steps"][0]["k"] == 2
    boxes = made(Mondrian(k=2), hierarchies=rule)
    assert boxes.manifest.total.k >= 2
    assert boxes.codebook.column("age").origin is Origin.DRAFTED
    assert boxes.manifest.anonymity["applied"][0]["do"] == "mondrian"
    assert not any({"suppressed", "visited"} & set(fact) for fact in release.manifest.anonymity["applied"])  # no count


def test_what_was_promised_is_counted_after_the_last_step():
    with pytest.raises(RefusalError, match="asks for 2-anonymity, but the released table would be 1-anonymous"):
        made(Mondrian(k=2), SuppressRows(column="why", when=("HIV",)))


def test_k_larger_than_the_table():
    with pytest.raises(DataError, match="`k` is 7 and the table has 6 rows"):
        made(Mondrian(k=7))


def test_a_limit_that_makes_it_impossible_says_how_close_it_came():
    closed = {"zip": Rule(top=False), "age": Rule(top=False)}
    with pytest.raises(
        RefusalError, match=r"at most 0.1 of the 6 rows \(0\); the closest would suppress 2 rows \(0.3333\)"
    ):
        made(FullDomain(k=2, suppression=0.1), hierarchies=closed)
    assert made(FullDomain(k=2, suppression=0.34), hierarchies=closed).manifest.total == KAnonymous(k=2)


def test_steps_may_be_held_back():
    rule = {"zip": Rule(prefix=(3, 1)), "age": Rule(intervals=(10, 50))}
    step = FullDomain(k=2, suppression=0.5, at_most={"zip": "first 3", "age": 1})
    levels = made(step, hierarchies=rule).manifest.anonymity["applied"][0]["steps"]
    assert levels["zip"] in ("as it stands", "first 3") and levels["age"] in ("as it stands", "by 10")


def test_few_suppressed_rows_are_deleted_not_starred():
    """One lonely row cannot hide among stars: it leaves the table."""
    rows = [*ROWS[:4], ("76101", 97, "long", "flu")]
    recipe = Recipe(
        steps=(FullDomain(k=2, suppression=0.2),), hierarchies={"zip": Rule(top=False), "age": Rule(top=False)}
    )
    done = anonymize(source(rows), recipe)
    assert done.release.table.num_rows == 4 and done.facts[0]["deleted"]
    assert "*" not in done.release.table.column("zip").to_pylist()


def test_the_same_counts_from_any_engine():
    """A table that stays in the engine gives the release of one that is counted in memory, and of one in a file."""
    table = us.datasets.discharges(rows=800, seed=4)
    recipe = Recipe(steps=(FullDomain(k=4, suppression=0.1),), quasi=("age.yrs", "sex", "patzip"))
    opened = [us.open(table, us.datasets.discharges_codebook(), local_bytes=size) for size in (0, 1 << 28)]
    tables = [anonymize(one, recipe).release.table for one in opened]
    assert tables[0].equals(tables[1])
    recipe = Recipe(steps=(Mondrian(k=4),), quasi=("age.yrs", "sex", "patzip"))
    assert anonymize(opened[0], recipe).release.table.equals(anonymize(opened[1], recipe).release.table)


RECIPE = """
format = 1
title = "example"
quasi_identifiers = ["zip", "age"]

[hierarchies.zip]
arx = "zip.csv"

[hierarchies.age]
intervals = [10, 50]

[[steps]]
do = "drop"
columns = ["stay"]

[[steps]]
do = "full-domain"
k = 2
suppression = 0.5
loss = "discernibility"
criteria = [{ kind = "distinct-l-diversity", column = "why", l = 1 }]
"""


def test_a_recipe_in_toml(tmp_path):
    (tmp_path / "zip.csv").write_text("75217;752**\n75211;752**\n76101;761**\n")
    (tmp_path / "recipe.toml").write_text(RECIPE)
    release = anonymize(source(), load_recipe(tmp_path / "recipe.toml")).release
    said = release.manifest.parameters
    assert [step["do"] for step in said["steps"]] == ["drop", "full-domain"]
    assert said["hierarchies"]["zip"]["arx"] == "zip.csv" and said["hierarchies"]["zip"]["digest"].startswith("sha256:")
    assert str(tmp_path) not in str(release.manifest.to_dict())
    assert release.manifest.anonymity["measured"]["criteria"][0]["achieved"] >= 1


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("format = 2", ["format is 2", "no [[steps]]"]),
        ("format = 1\n[[steps]]\ndo = 'fly'", ["step 1: `do` is 'fly'; it must be one of keep"]),
        ("format = 1\n[[steps]]\ndo = 'mondrian'\n", ["mondrian needs `k`"]),
        ("format = 1\n[[steps]]\ndo = 'mondrian'\nk = 1\n", ["`k` is 1; it must be a whole number of 2 or more"]),
        ("format = 1\n[[steps]]\ndo = 'full-domain'\nk = 2\n", ["full-domain needs `suppression`"]),
        (
            "format = 1\n[[steps]]\ndo = 'full-domain'\nk = 2\nsuppression = 2\n",
            ["`suppression` is 2; it must be a number of at least 0 and at most 1"],
        ),
        ("format = 1\n[[steps]]\ndo = 'full-domain'\nk = 2\nsuppression = 0\nloss = 'x'", ["`loss` is 'x'"]),
        ("format = 1\n[[steps]]\ndo = 'mondrian'\nk = 2\nspeed = 3\n", ["mondrian does not take `speed`"]),
        (
            "format = 1\n[[steps]]\ndo = 'keep'\ncolumns = 'zip'\n",
            ["`columns` is 'zip'; it must be a list of names of columns"],
        ),
        ("format = 1\n[[steps]]\ndo = 'keep'\ncolumns = [1]\n", [" is [1]; it must be a list of names of columns"]),
        (
            "format = 1\n[[steps]]\ndo = 'mondrian'\nk = 2\ncriteria = [{ kind = 'x' }]\n",
            ["`kind` is 'x'; it must be one of distinct-l-diversity"],
        ),
        (
            "format = 1\n[[steps]]\ndo = 'mondrian'\nk = 2\ncriteria = 'x'\n",
            ["`criteria` is 'x'; it must be a list of criteria"],
        ),
        (
            "format = 1\n[[steps]]\ndo = 'mondrian'\nk = 2\ncriteria = [{ kind = 't-closeness', column = 'a' }]\n",
            ["t-closeness needs `t`, `distance`"],
        ),
        (
            "format = 1\n[hierarchies.a]\nprefix = [1]\ndates = ['year']\n[[steps]]\ndo = 'mondrian'\nk = 2",
            ["choose one"],
        ),
        ("format = 1\n[hierarchies.a]\nfur = 1\n[[steps]]\ndo = 'mondrian'\nk = 2", ["does not take `fur`"]),
        ("format = 1\nsteps = [", ["not valid TOML"]),
    ],
)
def test_recipes_that_contradict_themselves(text, faults):
    with pytest.raises(CodebookError) as said:
        read_recipe(text)
    for fault in faults:
        assert fault in str(said.value)


def test_names_that_are_not_there():
    with pytest.raises(ParameterError, match="no column 'planet'"):
        made(Mondrian(k=2), quasi=("planet",))
    with pytest.raises(ParameterError, match="no column 'planet'"):
        made(Mondrian(k=2), hierarchies={"planet": Rule()})


EVERY = """
format = 1
[[steps]]
do = "keep"
columns = ["zip", "age", "stay", "why"]
[[steps]]
do = "drop"
columns = ["stay"]
[[steps]]
do = "top-code"
column = "age"
at = 90
[[steps]]
do = "bottom-code"
column = "age"
at = 10
[[steps]]
do = "noise"
column = "age"
scale = 0.5
law = "laplace"
[[steps]]
do = "bin"
column = "age"
width = 10
[[steps]]
do = "rank-swap"
columns = ["age"]
share = 0.5
[[steps]]
do = "swap"
columns = ["why"]
share = 0.5
within = ["age"]
[[steps]]
do = "suppress-rows"
column = "why"
when = ["HIV"]
[[steps]]
do = "suppress-cells"
columns = ["why"]
rarer_than = 2
among = ["zip", "why"]
[[steps]]
do = "group"
column = "zip"
levels = ["75217", "75211"]
into = "752**"
[[steps]]
do = "group-rare"
column = "why"
below = 2
[[steps]]
do = "generalise"
column = "zip"
to = "*"
[[steps]]
do = "full-domain"
k = 2
suppression = 1.0
[[steps]]
do = "mondrian"
k = 2
"""


def test_every_step_can_be_written_in_toml_and_done_in_order():
    recipe = read_recipe(EVERY)
    assert {step.do for step in recipe.steps} | {"round"} == set(STEPS)
    done = anonymize(source(), recipe)
    assert [fact["do"] for fact in done.facts] == [step.do if step.do != "drop" else "keep" for step in recipe.steps]
    said = done.release.manifest.parameters["steps"]
    assert [step["do"] for step in said] == [step.do for step in recipe.steps]
    assert said[4] == {"do": "noise", "column": "age", "scale": 0.5, "law": "laplace"}
    assert done.measured.k >= 2
