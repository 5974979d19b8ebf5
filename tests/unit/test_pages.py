"""The one shell and the one module of charts: nothing loaded, nothing let out, the same text every time."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.pages import charts
from understudy.pages.shell import html_page, page_style, policy

EVIL = '"><script>alert(1)</script>&'


def test_the_shell_states_its_policy_and_loads_nothing():
    page = html_page(title=EVIL, main="<section>words</section>", sub=EVIL, banner=EVIL, sections=[("a", EVIL)])
    assert page.startswith("<!doctype html>\n<html lang=") and policy() in page
    assert "<script>alert" not in page and page.count("<section>words</section>") == 1
    assert not re.search(r"\b(src|href)=[\"'](?!#)", page) and "http" not in page.replace("http-equiv", "")
    assert "prefers-color-scheme: dark" in page and "@media print" in page
    assert "<script" not in page, "without data and scripts there is nothing to run"


def test_a_page_may_have_data_scripts_and_a_policy_of_its_own():
    page = html_page(title="t", data={"a": "</script>"}, scripts=["run();"], security="", marker="made by us")
    assert page.splitlines()[1] == "<!-- made by us -->"
    assert '{"a":"\\u003c/script\\u003e"}' in page and "<script>run();</script>" in page
    assert "Content-Security-Policy" not in page
    hosted = html_page(title="t", security=policy('data: https://x"><script>'))
    assert "<script>" not in hosted


def test_styles_of_a_page_follow_those_of_all_pages():
    assert page_style("h1 { color: red }").endswith("h1 { color: red }")


def drawing() -> str:
    across = charts.Scale(low=1, high=1000, start=60, end=460, log=True)
    up = charts.Scale(low=0, high=1, start=260, end=20)
    points = [(across(10.0**k), up(k / 4)) for k in range(4)]
    return charts.svg(
        [
            charts.hatching("made"),
            charts.axes(across, up, names=(EVIL, "share")),
            charts.band(
                [x for x, _ in points], [y + 9 for _, y in points], [y - 9 for _, y in points], colour="#123456"
            ),
            charts.line(points, dash="4 2"),
            charts.dots(points, shape="diamond"),
            charts.dots(points, shape="ring"),
            charts.bar(10, 10, 20, 30, fill="url(#made)", edge="#000", tip=EVIL),
            charts.legend([("#000", EVIL)], x=0, y=0),
        ],
        width=480,
        height=320,
        title=EVIL,
        description="what it shows",
    )


def test_a_drawing_is_well_formed_named_and_always_the_same():
    root = ET.fromstring(drawing())
    assert root.get("role") == "img"
    names = [child.tag.rpartition("}")[2] for child in root]
    assert names[:2] == ["title", "desc"] and root[0].text == EVIL
    assert "script" not in {node.tag.rpartition("}")[2] for node in root.iter()}
    assert drawing() == drawing()


def test_heat_cells_run_from_the_first_colour_to_the_last_and_leave_gaps():
    across, up = (charts.Scale(low=0, high=2, start=0, end=20) for _ in range(2))
    cells = charts.heat([[0.0, 1.0], [None, 0.49]], across, up, colours=("#000", "#777", "#fff"), low=0, high=1)
    assert re.findall(r'fill="(#\w+)"', cells) == ["#000", "#fff", "#777"]


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 12))
def test_ticks_are_round_and_lie_inside(low, width, most):
    scale = charts.Scale(low=low, high=low + width, start=0, end=100)
    ticks = scale.ticks(most)
    assert len(ticks) <= most + 1
    slack = 1e-6 * max(abs(low), width, 1)
    assert all(low - slack <= tick <= low + width + slack for tick in ticks)
    assert sorted(ticks) == ticks


def test_values_beyond_a_scale_stay_on_the_drawing():
    scale = charts.Scale(low=0, high=10, start=5, end=105)
    assert [scale(value) for value in (-1, 0, 5, 10, 11)] == [5, 5, 55, 105, 105]
    assert charts.Scale(low=1, high=1000, start=0, end=3, log=True).ticks() == [1, 10, 100, 1000]
    assert charts.Scale(low=2, high=2, start=0, end=3)(2) == 0
    with pytest.raises(KeyError):
        charts.dots([(0, 0)], shape="star")
