"""DDI-Codebook (1.2 to 2.6): the XML in which archives describe their studies.

Only what the document declares is used: categories, valid ranges, missing codes. Its statistics (``sumStat``,
``catStat``) were computed from the data and are left alone.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

from understudy.codebook.file_reading import Layout
from understudy.errors import DataError
from understudy.sources.documents.variables import Variable, number_in


class _Declared(Exception):
    """An entity was declared."""


def read_xml(path: Path, content: bytes) -> ET.Element:
    """The root of an XML document; entities are refused, since expanding them could fill the memory or open files."""
    guard = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise _Declared

    guard.EntityDeclHandler = refuse
    try:
        guard.Parse(content, True)
        return ET.fromstring(content)
    except _Declared:
        raise DataError(
            f"{str(path)!r} declares XML entities, which are not read because they can be made to fill the memory or "
            "to open other files; replace them by their text."
        ) from None
    except (expat.ExpatError, ET.ParseError) as reason:
        raise DataError(f"{str(path)!r} is not valid XML ({reason}); copy it again from its source.") from None


def is_ddi(root: ET.Element) -> bool:
    """Whether the document is a codebook of DDI."""
    return _plain(root.tag) == "codeBook"


def is_of_release(root: ET.Element) -> bool:
    """Whether it is in the passport of a release of ours."""
    return any(_plain(item.tag) == "IDNo" and item.get("agency") == "understudy" for item in root.iter())


def title_of(root: ET.Element) -> str:
    """The title of the study."""
    return next((_text(item) for item in root.iter() if _plain(item.tag) == "titl" and _text(item)), "")


def variables_of(root: ET.Element) -> list[Variable]:
    """All variables in their order."""
    return [_variable(item) for item in root.iter() if _plain(item.tag) == "var"]


def layout_of(root: ET.Element) -> Layout:
    """Where each variable stands in a fixed-width file; empty where the document does not say it of all."""
    layout = []
    for item in (item for item in root.iter() if _plain(item.tag) == "var"):
        place = next(iter(_children(item, "location")), None)
        facts = {} if place is None else place.attrib
        try:
            first = int(facts["StartPos"])
            last = int(facts["EndPos"]) if facts.get("EndPos") else first + int(facts["width"]) - 1
        except (KeyError, ValueError):
            return ()
        layout.append((item.get("name", ""), (first, last)))
    return tuple(layout)


def _variable(item: ET.Element) -> Variable:
    values, missing = [], []
    for category in _children(item, "catgry"):
        code = next((_text(value) for value in _children(category, "catValu")), "")
        label = next((_text(value) for value in _children(category, "labl")), "")
        if code:
            values.append((code, label))
            if category.get("missing", "").upper() == "Y":
                missing.append(code)
    for outside in _children(item, "invalrng"):
        missing += [entry.get("VALUE", "") for entry in _children(outside, "item")]
        for span in _children(outside, "range"):
            missing += _whole_numbers(span)
    low, high = _valid_range(item)
    form = next(iter(_children(item, "varFormat")), None)
    is_text = form is not None and form.get("type") == "character"
    decimals = item.get("dcml", "")
    kind = "text" if is_text else "number" if item.get("intrvl") == "contin" and decimals not in ("", "0") else ""
    return Variable(
        name=item.get("name", ""),
        label=next((_text(label) for label in _children(item, "labl")), ""),
        type=kind,
        values=tuple(values),
        missing=tuple(dict.fromkeys(code for code in missing if code)),
        low=low,
        high=high,
        decimals=int(decimals) if decimals.isdecimal() else None,
        is_ordered=item.get("nature") == "ordinal",
    )


def _valid_range(item: ET.Element) -> tuple[object, object]:
    lows, highs = [], []
    for inside in _children(item, "valrng"):
        for span in _children(inside, "range"):
            low, high = number_in(span.get("min", "")), number_in(span.get("max", ""))
            if low is not None and high is not None:
                lows.append(low)
                highs.append(high)
    return (min(lows), max(highs)) if lows else (None, None)


def _whole_numbers(span: ET.Element) -> list[str]:
    low, high = number_in(span.get("min", "")), number_in(span.get("max", ""))
    if low is None or high is None or high - low > 100:
        return []
    return [str(number) for number in range(int(low), int(high) + 1)]


def _children(item: ET.Element, name: str) -> Iterator[ET.Element]:
    return (child for child in item if _plain(child.tag) == name)


def _plain(tag: object) -> str:
    return str(tag).rpartition("}")[2]


def _text(item: ET.Element) -> str:
    return " ".join("".join(item.itertext()).split())
