"""Names and shapes of areas: a Census crosswalk as it comes, postal areas, outlines drawn or given, the packed page."""

import base64
import json
import zlib

import numpy as np
import pyarrow as pa
import pytest

from understudy.commute.geography import as_places_table
from understudy.commute.layout import located
from understudy.commute.mapping import map_levels
from understudy.commute.outlines import areas_of_rings, outlines_by_level, read_outlines
from understudy.commute.packing import Pack
from understudy.commute.places import read_places
from understudy.commute.shapes import STEPS, Frame, drawn_outlines, simplified
from understudy.commute.synthesize import place_table
from understudy.errors import DataError

CROSSWALK = pa.table(
    {
        "tabblk2010": ["440010001001", "440010001002", "440010002001", "440039999000"],
        "st": ["44"] * 4,
        "cty": ["44001", "44001", "44001", "44003"],
        "ctyname": ["Bristol County, RI"] * 3 + ["Kent County, RI"],
        "trct": ["44001000100", "44001000100", "44001000200", "44003999900"],
        "trctname": ["1 (Bristol, RI)", "1 (Bristol, RI)", "2 (Bristol, RI)", "9999 (Kent, RI)"],
        "zcta": ["02903", "02903", "02806", "99999"],
        "zctaname": ["02903", "02903", "02806", None],
        "ctycsub": ["4400105140", "4400105140", "4400109280", "9999999999"],
        "ctycsubname": ["Barrington town (Bristol, RI)"] * 2 + ["Bristol town (Bristol, RI)", None],
        "blklatdd": ["41.1", "41.2", "41.3", "41.4"],
        "blklondd": ["-71.1", "-71.2", "-71.3", "-71.4"],
    }
)


def test_a_census_crosswalk_is_taken_as_it_comes():
    places = read_places(CROSSWALK)
    assert places.names[0] == "440010001001" and places.latitudes[3] == 41.4
    assert [level.name for level in places.levels] == ["county", "town", "tract"]
    assert places.levels[0].labels == ("Bristol County", "Kent County")
    assert places.levels[1].labels == ("Barrington town", "Bristol town", "no town")
    (postal,) = places.beside
    assert postal.name == "zip area" and "02903" in postal.labels
    again = read_places(place_table(places))
    assert [level.labels for level in again.levels] == [level.labels for level in places.levels]
    assert again.beside[0].of.tolist() == postal.of.tolist()


def test_names_keep_their_tail_where_they_would_be_the_same():
    table = as_places_table(
        pa.table({"tabblk2010": ["1", "2"], "cty": ["25005", "44001"], "ctyname": ["Bristol, MA", "Bristol, RI"]})
    )
    assert table["county_name"].to_pylist() == ["Bristol, MA", "Bristol, RI"]


def test_any_column_with_names_beside_it_is_for_the_map():
    places = read_places(
        pa.table(
            {"place": ["a", "b", "c"], "plz": ["7", None, "8"], "plz_name": ["Sieben", None, None], "x": [1, 2, 3]}
        )
    )
    assert places.levels == () and [area.name for area in places.beside] == ["plz"]
    assert places.beside[0].labels == ("Sieben", "8") and places.beside[0].of.tolist() == [0, -1, 1]


def region(seed=1, number=120):
    generator = np.random.default_rng(seed)
    longitudes, latitudes = generator.uniform(8, 9, number), generator.uniform(47, 48, number)
    halves = np.where(longitudes < 8.5, "west", "east").tolist()
    return read_places(
        pa.table(
            {
                "place": [f"z{i}" for i in range(number)],
                "latitude": latitudes,
                "longitude": longitudes,
                "town": halves,
                "town_name": [half.title() for half in halves],
            }
        )
    )


def inside(ring, x, y):
    odd = False
    for (x1, y1), (x2, y2) in zip(ring, np.roll(ring, 1, axis=0), strict=True):
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            odd = not odd
    return odd


def owners(outlines, x, y):
    rings = [outlines.points[a:b] for a, b in zip(outlines.starts[:-1], outlines.starts[1:], strict=True)]
    inner = [area for area, ring in zip(outlines.areas.tolist(), rings, strict=True) if inside(ring, x, y)]
    return [area for area in set(inner) if inner.count(area) % 2]


@pytest.mark.parametrize("seed", [1, 2])
def test_every_place_lies_in_its_own_cell_and_in_its_own_area_only(seed):
    places = region(seed)
    frame = Frame.around(places.longitudes, places.latitudes)
    town, cells = drawn_outlines(places, map_levels(places), frame)
    spots = frame.steps(places.longitudes, places.latitudes)
    for place, (x, y) in enumerate(np.rint(spots)):
        assert owners(cells, x, y) == [place]
    # away from the border between the towns, which is drawn a little simpler
    far = np.flatnonzero(np.abs(places.longitudes - 8.5) > 0.15)
    assert all(owners(town, *spots[place]) == [places.levels[0].of[place]] for place in far)
    assert town.points.min() >= 0 and town.points.max() <= STEPS
    assert len(town.points) < len(cells.points) / 3, "joined cells are simpler than the cells"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_few_places_or_one_spot_can_be_drawn(number):
    places = read_places(
        pa.table(
            {"place": [f"p{i}" for i in range(number)], "latitude": [41.0] * number, "longitude": [-71.0] * number}
        )
    )
    (cells,) = drawn_outlines(places, map_levels(places), Frame.around(places.longitudes, places.latitudes))
    assert len(cells.areas) == 1, "one spot has one cell"


def test_a_closed_line_is_simplified_too():
    turn = np.linspace(0, 2 * np.pi, 200)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1) * 1000
    simple = simplified(np.concatenate([ring[:-1], ring[:1]]), 20.0)
    assert 8 <= len(simple) < 40


def geojson(path, key="name"):
    def square(west, east):
        return [[[west, 47.0], [east, 47.0], [east, 48.0], [west, 48.0], [west, 47.0]]]

    shapes = {
        "West": {"type": "Polygon", "coordinates": square(8.0, 8.5)},
        "east": {"type": "MultiPolygon", "coordinates": [square(8.5, 9.0)]},
        "a lake": None,
    }
    features = [
        {"type": "Feature", "properties": {"nr": nr, key: name}, "geometry": geometry}
        for nr, (name, geometry) in enumerate(shapes.items())
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def test_outlines_that_are_given_find_their_level_by_name_or_code(tmp_path):
    places = region()
    drawn = read_outlines(geojson(tmp_path / "towns.geojson"))
    frame = Frame.around(*drawn.degrees.T)
    outlines = outlines_by_level([drawn], places.levels, frame)["town"]
    assert places.levels[0].labels == ("East", "West") and sorted(outlines.areas.tolist()) == [0, 1]
    x, y = frame.steps(8.2, 47.5)
    assert owners(outlines, x, y) == [1]


def test_bad_outlines_say_what_is_wrong(tmp_path):
    places = region()
    frame = Frame.around(places.longitudes, places.latitudes)
    (tmp_path / "text").write_text("no JSON")
    (tmp_path / "empty").write_text('{"type": "FeatureCollection", "features": []}')
    geojson(tmp_path / "metres").write_text((tmp_path / "metres").read_text().replace("47.0", "470000"))
    for name, sentence in (
        ("text", "no GeoJSON"),
        ("empty", "no polygon"),
        ("metres", "WGS 84"),
        ("lost", "cannot be"),
    ):
        with pytest.raises(DataError, match=sentence):
            read_outlines(tmp_path / name)
    strange = geojson(tmp_path / "strange")
    strange.write_text(strange.read_text().replace("West", "Nord").replace("east", "Sued"))
    with pytest.raises(DataError, match="no codes or names"):
        outlines_by_level([read_outlines(strange)], places.levels, frame)


def named_places():
    """Two towns of two zones each, whose names are the same in both; no coordinates."""
    return read_places(
        pa.table(
            {
                "place": ["1", "2", "3", "4"],
                "name": ["Dal", "Berg", "Dal", None],
                "town": ["a", "a", "b", "b"],
                "town_name": ["West", "West", "East", "East"],
            }
        )
    )


def test_places_have_names_of_their_own_and_keep_them_in_a_release():
    places = named_places()
    assert places.names == ("1", "2", "3", "4") and places.labels == ("Dal", "Berg", "Dal", "4")
    again = read_places(place_table(places))
    assert again.labels == places.labels and [level.name for level in again.levels] == ["town"]
    assert map_levels(places)[-1].labels == places.labels
    assert read_places(pa.table({"name": ["x", "y"]})).titles is None  # there the name is the place itself


def shapes(path, key, values):
    """Squares in a row, one for each value of a property."""
    features = [
        {
            "type": "Feature",
            "properties": {key: value},
            "geometry": {"type": "Polygon", "coordinates": [[[x, 0], [x + 1, 0], [x + 1, 1], [x, 1], [x, 0]]]},
        }
        for x, value in enumerate(values)
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return read_outlines(path)


def test_places_without_coordinates_lie_in_the_middle_of_their_outlines(tmp_path):
    placed, diagram = located(named_places(), [shapes(tmp_path / "zones", "id", ["4", "3", "2", "1"])])
    assert not diagram and placed.longitudes.tolist() == [3.5, 2.5, 1.5, 0.5] and set(placed.latitudes) == {0.5}
    there, diagram = located(placed, [])
    assert there is placed and not diagram


def test_a_name_that_two_areas_have_finds_none_of_them(tmp_path):
    by_name = shapes(tmp_path / "names", "name", ["Dal", "Berg", "Dal", "4"])
    assert areas_of_rings(by_name, map_levels(named_places())[-1]) == {1: 1, 3: 3}
    placed, diagram = located(named_places(), [by_name])
    assert diagram and placed.has_coordinates  # not all of them are known, so none is taken


@pytest.mark.parametrize("number", [1, 2, 5, 40, 1000])
def test_a_diagram_puts_every_place_at_a_spot_of_its_own_and_units_together(number):
    units = [f"u{i * 7 % 5}" for i in range(number)]
    places = read_places(pa.table({"place": [f"p{i}" for i in range(number)], "town": units}))
    placed, diagram = located(places, [])
    spots = np.stack([placed.longitudes, placed.latitudes], axis=1)
    assert diagram and len(np.unique(spots, axis=0)) == number and np.abs(spots).max() <= 0.5
    if number == 1000:  # a place is nearer to its own unit than a place taken at random
        of = placed.levels[0].of
        own = np.mean([np.ptp(spots[of == unit], axis=0).prod() for unit in range(5)])
        assert own < 0.6 * np.ptp(spots, axis=0).prod()


def test_what_is_packed_is_unpacked():
    pack = Pack()
    arrays = {"small": np.array([1, 255]), "signed": np.array([-1, 70_000]), "part": np.array([0.5, 1e6])}
    for name, values in arrays.items():
        assert pack.add(name, values) == name
    content = zlib.decompress(base64.b64decode(pack.text({"title": "Süd"})))
    length = int.from_bytes(content[:8], "little")
    facts = json.loads(content[8 : 8 + length])
    assert facts["title"] == "Süd" and length % 8 == 0
    kinds = {"Uint8Array": "<u1", "Int32Array": "<i4", "Float32Array": "<f4"}
    for packed in facts["arrays"]:
        values = np.frombuffer(content, kinds[packed["kind"]], packed["length"], 8 + length + packed["at"])
        assert values.tolist() == arrays[packed["name"]].tolist()
