"""A form that was refused comes back as it was typed, with the sentence beside the field that it is about.

This is done once for all screens, on the page that is ready: the fields of the form with the refused address get what
was sent. A screen only says which field is wrong (:class:`FieldError`); sentences from elsewhere name it in backticks.
"""

import re
from dataclasses import dataclass
from html import escape
from html.parser import HTMLParser

from understudy.errors import ParameterError

FAULT = "fault"
"""The id of the sentence beside a field."""
_KEPT = ("hidden", "submit", "button")
"""Kinds of fields that nobody types into: tokens and numbers of forms are those of the new page."""
_NAMED = re.compile(r"`([A-Za-z_][A-Za-z0-9_-]*)`")


class FieldError(ParameterError):
    """What was typed into one field cannot be used."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A form that was sent and refused."""

    action: str
    """The address it was sent to."""
    pairs: tuple[tuple[str, str], ...]
    sentence: str
    field: str
    """The field that the sentence is about; empty where it is about the whole."""


def refused_form(action: str, pairs: tuple[tuple[str, str], ...], error: Exception, sentence: str) -> Refused:
    """What has to be shown again."""
    names = {name for name, _ in pairs}
    told = getattr(error, "field", "") or next((word for word in _NAMED.findall(sentence) if word in names), "")
    return Refused(action=action, pairs=pairs, sentence=sentence, field=told)


def refilled(page: str, refused: Refused) -> str:
    """The page with the refused form as it was typed; unchanged where it has no such form.

    >>> form = Refused(action="/a", pairs=(("n", '4 "x"'),), sentence="no number.", field="n")
    >>> print(refilled('<form method="post" action="/a"><input name="n" value="3"></form>', form))
    <form method="post" action="/a"><input name="n" value="4 &quot;x&quot;" aria-invalid="true" \
aria-describedby="fault" autofocus><strong class="fault" id="fault">no number.</strong></form>
    """
    reader = _Refilling(page, refused)
    reader.feed(page)
    reader.close()
    edits = reader.edits
    if reader.form_start is not None and not reader.is_told:
        words = f'<p class="problem" id="{FAULT}">{escape(refused.sentence)}</p>'
        edits.append((reader.form_start, reader.form_start, words))
    parts, place = [], 0
    for start, end, words in sorted(edits):
        parts += [page[place:start], words]
        place = end
    return "".join([*parts, page[place:]])


class _Refilling(HTMLParser):
    """Finds the fields of the form and notes what has to stand in their places."""

    def __init__(self, page: str, refused: Refused) -> None:
        super().__init__(convert_charrefs=True)
        self._refused = refused
        self._values: dict[str, list[str]] = {}
        for name, value in refused.pairs:
            self._values.setdefault(name, []).append(value)
        self._lines = [0, *(match.end() for match in re.finditer("\n", page))]
        self._inside = False
        self._select: str | None = None
        self._option: tuple[int, int, dict[str, str | None], list[str]] | None = None
        self._area: tuple[str, int] | None = None
        self.edits: list[tuple[int, int, str]] = []
        self.form_start: int | None = None
        self.is_told = False

    def _here(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A field, or the beginning of one."""
        known, start = dict(attrs), self._here()
        end = start + len(self.get_starttag_text() or "")
        if tag == "form":
            action = (known.get("action") or "").partition("?")[0]
            self._inside = action == self._refused.action
            if self._inside and self.form_start is None:
                self.form_start = end
        if not self._inside:
            return
        name = known.get("name") or ""
        if tag == "input" and name in self._values and known.get("type") not in _KEPT:
            self._input(start, end, known, name)
        elif tag == "input" and known.get("type") == "checkbox":
            known.pop("checked", None)  # one that was not ticked is not sent
            self.edits.append((start, end, _tag(tag, known)))
        elif tag == "select" and name in self._values:
            self._select = name
            self._mark(tag, start, end, known, name)
        elif tag == "textarea" and name in self._values:
            self._area = (name, end)
            self._mark(tag, start, end, known, name)
        elif tag == "option" and self._select is not None:
            self._option = (start, end, known, [])

    def _input(self, start: int, end: int, known: dict[str, str | None], name: str) -> None:
        if known.get("type") in ("checkbox", "radio"):
            known.pop("checked", None)
            if (known.get("value") or "") in self._values[name]:
                known["checked"] = None
            self.edits.append((start, end, _tag("input", known)))
        else:
            self._mark("input", start, end, {**known, "value": self._values[name][-1]}, name)

    def _mark(self, tag: str, start: int, end: int, known: dict[str, str | None], name: str) -> None:
        """The field, which says that it is wrong if it is the one."""
        is_wrong = name == self._refused.field and not self.is_told
        if is_wrong:
            known = {**known, "aria-invalid": "true", "aria-describedby": FAULT, "autofocus": None}
        self.edits.append((start, end, _tag(tag, known)))
        if is_wrong and tag == "input":
            self._tell(end)

    def _tell(self, place: int) -> None:
        words = f'<strong class="{FAULT}" id="{FAULT}">{escape(self._refused.sentence)}</strong>'
        self.edits.append((place, place, words))
        self.is_told = True

    def handle_data(self, data: str) -> None:
        """The words of an option, which are its value where it has none."""
        if self._option is not None:
            self._option[3].append(data)

    def handle_endtag(self, tag: str) -> None:
        """The end of a field."""
        here = self._here()
        behind = here + len(tag) + 3
        if tag == "form":
            self._inside = False
        elif tag == "option" and self._option is not None and self._select is not None:
            start, end, known, words = self._option
            known.pop("selected", None)
            value = known.get("value")
            if ("".join(words).strip() if value is None else value) in self._values[self._select]:
                known["selected"] = None
            self.edits.append((start, end, _tag(tag, known)))
            self._option = None
        elif tag == "select" and self._select is not None:
            if self._select == self._refused.field and not self.is_told:
                self._tell(behind)
            self._select = None
        elif tag == "textarea" and self._area is not None:
            name, start = self._area
            self.edits.append((start, here, "\n" + escape(self._values[name][-1])))
            if name == self._refused.field and not self.is_told:
                self._tell(behind)
            self._area = None


def _tag(name: str, attributes: dict[str, str | None]) -> str:
    words = [key if value is None else f'{key}="{escape(value)}"' for key, value in attributes.items()]
    return f"<{' '.join([name, *words])}>"
