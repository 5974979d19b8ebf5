"""The one shell and the one module of charts: nothing loaded, nothing let out, the same text every time."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.pages import charts, drawings, figures
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
            charts.dots(points, inside="none"),
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


def test_a_cloud_writes_marks_on_one_pixel_once_and_a_histogram_ends_on_its_floor():
    assert charts.cloud([(1.0, 2.0), (1.0, 2.0), (3.0, 4.0)]).count("h0") == 2
    many = charts.cloud([(k / 100, 0.2) for k in range(3000)])
    assert many.count("h0") == 31, "thousands of marks stand on whole pixels"
    assert 'd="M0.0,10.0L0.0,4.0L5.0,4.0L5.0,7.0L9.0,7.0L9.0,10.0"' in charts.stairs([0, 5, 9], [4, 7], floor=10)
    key = charts.line_legend([("#000", "4 2", EVIL), ("#111", "", "b")], x=10, y=10)
    assert "<script" not in key and key.count("<path") == 2


def boxes_of(drawn: str) -> list[tuple[float, float, float, float]]:
    """Places and sizes of the boxes of a drawing that say something when pointed at."""
    boxes = [node for node in ET.fromstring(drawn).iter("rect") if len(node)]
    return [tuple(float(node.get(name)) for name in ("x", "y", "width", "height")) for node in boxes]


def test_boxes_of_a_mosaic_fill_the_picture_and_nearly_empty_columns_are_seen():
    rare, common = (drawings.Shade(colour=c, words=w) for c, w in (("red", "rare"), ("blue", "common")))
    counts = [[1, 0], [600, 399], [0, 0]]

    def shade(i, j):
        return rare if counts[i][j] == 1 else common

    drawn = drawings.mosaic(counts, (("a", EVIL, "c"), ("low", "high")), shade, [rare, common], title="m", least=0.01)
    single, below, above = boxes_of(drawn)
    assert 0.6 <= single[2] < 6, "one person is seen"
    assert below[0] == above[0] and below[2] == above[2]
    assert below[3] / above[3] == pytest.approx(600 / 399, rel=0.02)
    assert drawn.count('fill="red"') == 2 and "<script" not in drawn


def spread(drawn: str) -> list[float]:
    """All places across that marks of a drawing have."""
    return [float(x) for x in re.findall(r'<(?:rect x|circle cx)="(-?[\d.]+)"', drawn)]


EVERY = {
    "differences": lambda n: drawings.difference_bars(
        [drawings.Difference(label=EVIL * 4, value=(-1) ** k * k, chance=0.5) for k in range(n)], title="t"
    ),
    "intervals": lambda n: drawings.interval_axis(
        [(EVIL, [drawings.Dot(value=k, low=k - 1, high=k + 1), drawings.Dot(value=9, series=1)]) for k in range(n)],
        title="t", series=("a", "b"), span=(-1, 4), limit=2.0, name=EVIL,
    ),
    "lines": lambda n: drawings.xy_chart(
        [drawings.Series(name=f"s{k}", x=[1, 10, 100], y=[k, 1, 2], spread=[1, 1, 1], labels=[EVIL]) for k in range(n)],
        title="t", names=(EVIL, "y"), log=(True, False), levels=[("level", 1.0)], diagonal=True, shaded=(1, 5, 0, 1),
    ),
    "bars": lambda n: drawings.grouped_bars([EVIL] * n, [("a", [1.0] * n), ("b", [0.0] * n)], title="t"),
    "heat": lambda n: drawings.heat_map([EVIL] * n, [[0.5 - i / n, None] * (n // 2) for i in range(n)], title="t"),
}  # fmt: skip


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("n", [1, 2, 8])
def test_every_chart_is_well_formed_and_no_wider_than_a_phone(kind, n):
    drawn = EVERY[kind](n)
    root = ET.fromstring(drawn)
    assert root.get("role") == "img" and root[0].text == "t" and float(root.get("width")) == drawings.WIDTH < 390
    assert "<script" not in drawn and all(0 <= x <= drawings.WIDTH for x in spread(drawn))
    assert drawn == EVERY[kind](n) and "#" not in re.sub(r"&#?\w+;", "", drawn), "colours follow the page"


def test_a_difference_begins_at_zero_and_goes_to_its_side():
    drawn = drawings.difference_bars(
        [drawings.Difference(label="a", value=2.0), drawings.Difference(label="b", value=-1.0)], title="t"
    )
    up, down = ([float(v) for v in pair] for pair in re.findall(r'<rect x="([\d.]+)"[^>]*width="([\d.]+)"', drawn))
    assert up[0] == pytest.approx(down[0] + down[1], abs=0.11) and up[1] == pytest.approx(2 * down[1], abs=0.2)


def test_series_differ_without_their_colours():
    names = [f"s{k}" for k in range(6)]
    drawn = drawings.xy_chart([drawings.Series(name=name, x=[1, 2], y=[1, 2]) for name in names], title="t")
    dashes = re.findall(r'stroke-width="1.8"(?: stroke-dasharray="([^"]*)")?', drawn)
    assert len(dashes) == len(set(dashes)) == 6
    made = figures.curves_figure("k", "t", "c", [("a", [1], [2]), ("b", [1], [3])], x="x", y="y", level=[("l", 1.0)])
    assert made.rows == [("a", "1", "2"), ("b", "1", "3"), ("l", "", "1")] and "<desc>c</desc>" in made.drawing
