"""Hierarchies from the codebook, intervals, prefixes, dates and ARX files; and what is no tree."""

import datetime as dt
from fractions import Fraction

import pytest

from understudy.anonymize.hierarchies import from_arx, from_codebook, from_dates, from_intervals, from_prefixes
from understudy.anonymize.hierarchy import build
from understudy.codebook import Categorical, Continuous, Dates, Generalisation, Grain, Integer, Ordinal
from understudy.errors import CodebookError, ParameterError

ZIP = Categorical(name="zip", levels=("75217", "75211", "76101", "90001"), missing="NA")


def edges(*values):
    return tuple(Fraction(value) for value in values)


def test_prefixes_as_in_the_dissertation():
    tree = from_prefixes(ZIP, [3, 1])
    assert tree.names == ("as it stands", "first 3", "first 1", "*")
    assert tree.labels[1] == ("752**", "761**", "900**")
    assert tree.labels[2] == ("7****", "9****")
    assert tree.maps[1].tolist() == [0, 0, 1, 2, 3]  # missing values keep a group of their own
    assert tree.at(1).missing == "NA" and tree.at(3).missing is None and tree.groups(3) == 1


def test_prefixes_must_shrink():
    with pytest.raises(ParameterError, match="fewer than the one before"):
        from_prefixes(ZIP, [2, 3])
    with pytest.raises(ParameterError, match="how many characters"):
        from_prefixes(ZIP, [-1])


def test_ages_by_5_10_and_20_years():
    age = Integer(name="age", edges=edges(*range(0, 101)))
    tree = from_intervals(age, [5, 10, 20])
    assert tree.labels[1][:2] == ("0-4", "5-9") and tree.labels[1][-1] == "95-100"  # the last edge is in the last bin
    assert tree.labels[3] == ("0-19", "20-39", "40-59", "60-79", "80-100")
    assert tree.maps[2][37] == 3 and tree.labels[2][3] == "30-39"


def test_intervals_of_levels_that_are_numbers():
    age = Ordinal(name="age", levels=tuple(str(year) for year in range(0, 85, 5)))
    tree = from_intervals(age, [10, 20])
    assert tree.labels[1][0] == "0-9" and tree.labels[1][-1] == "80+"
    with pytest.raises(CodebookError, match="is no number"):
        from_intervals(Ordinal(name="los", levels=("1", "10-29")), [5])


def test_intervals_of_decimals_and_other_starts():
    weight = Continuous(name="w", edges=edges("0.5", 1, "1.5", 2), precision=1)
    assert from_intervals(weight, [1], start=Fraction(1, 2).__float__()).labels[1] == ("[0.5, 1.5)", "[1.5, 2]")


def test_intervals_that_cross_a_bin_or_are_no_tree():
    age = Integer(name="age", edges=edges(0, 5, 15, 20))
    with pytest.raises(CodebookError, match="crosses 10"):
        from_intervals(age, [10])
    with pytest.raises(CodebookError, match="not a tree"):
        from_intervals(Integer(name="age", edges=edges(*range(0, 31))), [10, 15])
    with pytest.raises(ParameterError, match="above 0"):
        from_intervals(age, [0])
    with pytest.raises(ParameterError, match="give finite numbers"):
        from_intervals(age, ["five"])
    with pytest.raises(CodebookError, match="has no intervals"):
        from_intervals(Dates(name="d", grain=Grain.DAY, start=dt.date(2010, 1, 1), end=dt.date(2010, 1, 2)), [5])


def test_dates_by_month_and_year():
    day = Dates(name="d", grain=Grain.DAY, start=dt.date(2009, 12, 30), end=dt.date(2010, 2, 1))
    tree = from_dates(day, ["month", "year"])
    assert tree.labels[1] == ("2009-12", "2010-01", "2010-02")
    assert tree.labels[2] == ("2009", "2010")
    with pytest.raises(CodebookError, match="weeks cross"):
        from_dates(Dates(name="d", grain=Grain.WEEK, start=dt.date(2010, 1, 1), end=dt.date(2010, 3, 2)), ["month"])
    with pytest.raises(ParameterError, match="kept by month can be joined by quarter"):
        from_dates(Dates(name="d", grain=Grain.MONTH, start=dt.date(2010, 1, 1), end=dt.date(2010, 3, 2)), ["month"])
    with pytest.raises(CodebookError, match="not a date"):
        from_dates(ZIP, ["year"])


def test_the_codebook_declares_steps():
    county = Generalisation(name="county", groups=(("Dallas", ("a", "b")), ("Tarrant", ("c",))))
    state = Generalisation(name="state", groups=(("Texas", ("a", "b", "c")),))
    place = Categorical(name="place", levels=("a", "b", "c"), hierarchy=(county, state))
    tree = from_codebook(place)
    assert tree.names == ("as it stands", "county", "state")  # one group already: no star is needed
    torn = Generalisation(name="torn", groups=(("x", ("a", "c")), ("y", ("b",))))
    with pytest.raises(CodebookError, match="'Dallas' goes to 'x' and 'y'"):
        from_codebook(Categorical(name="place", levels=("a", "b", "c"), hierarchy=(county, torn)))


def test_arx_files(tmp_path):
    file = tmp_path / "zip.csv"
    file.write_text("75217;752**;*\n75211;752**;*\n76101;761**;*\n90001;900**;*\n10000;100**;*\n")
    tree = from_arx(ZIP, file)
    assert tree.labels == (("75217", "75211", "76101", "90001"), ("752**", "761**", "900**"), ("*",))
    assert tree.maps[2].tolist() == [0] * 5  # missing values are in the star too
    ages = tmp_path / "age.csv"
    ages.write_text("\n".join(f"{year},{year // 10}x,*" for year in range(17, 91)))
    years = Integer(name="age", edges=edges(*range(17, 90)))  # its last bin holds 88 and 89
    assert from_arx(years, ages).labels[1][-1] == "8x"
    with pytest.raises(CodebookError, match=r"parts the values of the bin \[89, 90\]"):
        from_arx(Integer(name="age", edges=edges(*range(17, 91))), ages)
    with pytest.raises(CodebookError, match="misses the value '91'"):
        from_arx(Integer(name="age", edges=edges(*range(17, 92))), ages)
    known = Ordinal(name="age", levels=tuple(str(year) for year in range(17, 91)))
    assert from_arx(known, ages).labels[1][:3] == ("1x", "2x", "3x")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("75217;752**\n75211;752**\n76101;761**\n", "misses the value '90001'"),
        ("75217;752**\n75217;753**\n75211;x\n76101;x\n90001;x\n", "listed twice"),
        ("75217;a;*\n75211;b\n76101;c;*\n90001;d;*\n", "2 or 3 fields"),
        ("75217;a;x\n75211;a;y\n76101;c;y\n90001;d;y\n", "'a' goes to 'x' and 'y'"),
        ("75217\n75211\n76101\n90001\n", "no step beside the values"),
        ("", "is empty"),
    ],
)
def test_arx_files_that_are_no_hierarchy(tmp_path, text, fault):
    file = tmp_path / "zip.csv"
    file.write_text(text)
    with pytest.raises(CodebookError, match=fault):
        from_arx(ZIP, file)


def test_arx_files_that_cannot_be_read(tmp_path):
    with pytest.raises(CodebookError, match="no hierarchy file"):
        from_arx(ZIP, tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes("75217;Dällas".encode("latin-1"))
    with pytest.raises(CodebookError, match="not UTF-8"):
        from_arx(ZIP, tmp_path / "latin.csv")


def test_a_group_may_not_be_called_like_the_missing_value():
    with pytest.raises(CodebookError, match="token of missing values"):
        build(ZIP, [("step", ("NA", "NA", "x", "x"))])


def test_top_can_be_refused():
    assert build(ZIP, ()).names == ("as it stands", "*")
    assert build(ZIP, (), top=False).names == ("as it stands",)
    with pytest.raises(ParameterError, match="cannot be generalised to 'county'"):
        build(ZIP, ()).find("county")
