"""What a publisher declares about a data set as a whole: its title, publisher, licence and the like.

It is public and not part of what is encoded. Manifests, pages and passports repeat it.
"""

import calendar
import datetime as dt
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from understudy.errors import CodebookError, ParameterError
from understudy.loading import loading
from understudy.parameters import OneOf, Text, option, options_of

_MOST_CHARACTERS = 10_000
_EMAIL = re.compile(r"[^@\s<>\"]+@[^@\s<>\".]+(\.[^@\s<>\".]+)+")
_DAY = re.compile(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?")


def is_address(value: Any) -> bool:
    """Whether a text is a web address.

    >>> is_address("https://example.org/data"), is_address("example.org")
    (True, False)
    """
    if not isinstance(value, str) or re.search(r"[\s<>\"\\^`{|}\x00-\x20\x7f]", value):
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def is_email(value: Any) -> bool:
    """Whether a text has the form of an e-mail address."""
    return isinstance(value, str) and bool(_EMAIL.fullmatch(value)) and value.isprintable()


def licence_id(value: Any) -> str | None:
    """The SPDX identifier that a text spells, in its official capitals; None where it spells none.

    >>> licence_id("cc-by-4.0"), licence_id("LicenseRef-data-use-agreement"), licence_id("open")
    ('CC-BY-4.0', 'LicenseRef-data-use-agreement', None)
    """
    from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9.+-]+", value):  # one licence, no expression
        return None
    try:
        return str(canonicalize_license_expression(value))
    except InvalidLicenseExpression:
        return None


def period_of(value: Any) -> tuple[dt.date, dt.date] | None:
    """First and last day of a period as it is written; None where it is no period.

    >>> [str(day) for day in period_of("2009/2010-06")]
    ['2009-01-01', '2010-06-30']
    """
    ends = value.split("/") if isinstance(value, str) else []
    if not 1 <= len(ends) <= 2 or not all(_DAY.fullmatch(end) and end.isascii() for end in ends):
        return None
    try:
        first, last = _span(ends[0])[0], _span(ends[-1])[1]
    except ValueError:
        return None
    return (first, last) if first <= last else None


def _span(text: str) -> tuple[dt.date, dt.date]:
    """The first and the last day of a day, a month or a year."""
    year, month, day = (None if part is None else int(part) for part in _DAY.fullmatch(text).groups())  # type: ignore[union-attr]
    first = dt.date(year or 0, month or 1, day or 1)
    if day is not None:
        return first, first
    last_month = month or 12
    return first, dt.date(first.year, last_month, calendar.monthrange(first.year, last_month)[1])


def _is_text(value: Any) -> bool:
    """Printable, with line breaks at most: every format can carry it."""
    return (
        isinstance(value, str)
        and bool(value.strip())
        and len(value) <= _MOST_CHARACTERS
        and all(character.isprintable() or character == "\n" for character in value)
    )


def _text(example: str) -> Text:
    return Text(
        words=f"a printable text of at most {_MOST_CHARACTERS:,} characters", example=example, admitted=_is_text
    )


_LICENCE = Text(
    words="the SPDX identifier of a licence, LicenseRef- and a name of your own, or a web address",
    example="CC-BY-4.0",
    admitted=lambda value: licence_id(value) is not None or is_address(value),
)
_CONTACT = Text(
    words="an e-mail address or a web address",
    example="data@example.org",
    admitted=lambda value: is_email(value) or is_address(value),
)
_ADDRESS = Text(words="a web address", example="https://example.org/data", admitted=is_address)
_PERIOD = Text(
    words="a year, a month or a day, or two of them with a slash between, the earlier one first",
    example="2009/2010-06",
    admitted=lambda value: period_of(value) is not None,
)
_CATEGORIES = Text(
    words="a list of web addresses",
    example='["https://example.org/categories/EHRS"]',
    admitted=lambda value: isinstance(value, tuple) and all(map(is_address, value)),
)
_KEYWORDS = Text(
    words="a list of printable texts",
    example='["hospital", "discharge"]',
    admitted=lambda value: isinstance(value, tuple) and all(map(_is_text, value)),
)


@dataclass(frozen=True, kw_only=True)
class Publication:
    """The ``[publication]`` table of a codebook. Nothing in it may be read from the data.

    >>> Publication(licence="open", contact="nobody").faults()[0]
    '[publication] has contact = nobody; it must be an e-mail address or a web address. Try data@example.org.'
    """

    title: str = option("", rule=_text("Hospital discharges"), help="Title; that of the codebook if it is left out.")
    description: str = option(
        "", rule=_text("One row per stay."), help="What the table is about; that of the codebook if it is left out."
    )
    publisher: str = option("", rule=_text("Example Institute"), help="Who publishes it.")
    contact: str = option("", rule=_CONTACT, help="Where questions go: an e-mail address or a web address.")
    licence: str = option("", rule=_LICENCE, help="SPDX identifier or web address of the licence.")
    version: str = option("", rule=_text("1.0.0"), help="Version of the publication.")
    keywords: tuple[str, ...] = option((), rule=_KEYWORDS, help="Words that it is found by.")
    spatial: str = option("", rule=_text("Norway"), help="The place that it is about, or a web address for the place.")
    temporal: str = option("", rule=_PERIOD, help="The period that it is about.")
    url: str = option("", rule=_ADDRESS, help="Where it is published.")
    citation: str = option("", rule=_text("Example Institute (2026): ..."), help="How it should be cited.")
    supersedes: str = option(
        "", rule=_text("9f0c2d4e-..."), help="The release that this edition takes the place of, by its name."
    )
    intended_use: str = option("", rule=_text("Teaching and method development"), help="What it is published for.")
    access: str = option("public", rule=OneOf(("public", "restricted", "non-public")), help="Who may have it.")
    health_categories: tuple[str, ...] = option(
        (), rule=_CATEGORIES, help="Addresses of HealthDCAT-AP categories, where it is about health."
    )

    def faults(self) -> list[str]:
        """Everything wrong with it."""
        faults = []
        for name, declared in options_of(type(self)).items():
            if (value := getattr(self, name)) == declared.default:
                continue
            try:
                declared.check(value)
            except ParameterError as reason:
                sentence = str(reason).partition("; ")[2]
                faults.append(f"[publication] has {name} = {_quoted(value)}; {sentence}")
        return faults

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "[publication]") -> "Publication":
        """What :meth:`to_dict` gave, or a table of a file says; every fault at once."""
        known = options_of(cls)
        faults = [
            f"{where} has the unknown key {key}; it knows {', '.join(known)}." for key in values if key not in known
        ]
        plain: dict[str, Any] = {key: value for key, value in values.items() if key in known}
        lists = {key: tuple(value) for key, value in plain.items() if isinstance(value, list)}
        publication = cls(**{**plain, **lists})
        faults += [fault.replace("[publication]", where, 1) for fault in publication.faults()]
        if faults:
            raise CodebookError(f"{where} has {len(faults)} fault{'s' * (len(faults) != 1)}:", faults)
        return publication

    @classmethod
    def load(cls, path: str | Path) -> "Publication":
        """The ``[publication]`` table of a TOML file, which may be a codebook."""
        with loading(path, "the publication", remedy="write a [publication] table in TOML.", error=CodebookError):
            table = tomllib.loads(Path(path).read_text(encoding="utf-8-sig")).get("publication")
            if not isinstance(table, dict):
                raise CodebookError(f"{str(path)!r} has no [publication] table; write one, with a title for example.")
            return cls.from_dict(table, f"[publication] of {str(path)!r}")

    @property
    def period(self) -> tuple[dt.date, dt.date] | None:
        """First and last day of what it is about."""
        return period_of(self.temporal)

    @property
    def licence_address(self) -> str:
        """A web address of the licence; empty where there is none."""
        identifier = licence_id(self.licence)
        if identifier is None or identifier.startswith("LicenseRef-"):
            return self.licence if is_address(self.licence) else ""
        return f"https://spdx.org/licenses/{identifier}"

    def to_dict(self) -> dict[str, Any]:
        """What is declared, as plain data."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        kept = {name: value for name, value in values.items() if value != options_of(type(self))[name].default}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()}


def _quoted(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
