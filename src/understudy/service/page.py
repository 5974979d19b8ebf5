"""The built-in pages: one HTML answer each, everything inside, nothing loaded from anywhere."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Self

from starlette.responses import Response

from understudy.pages.shell import html_page, page_style
from understudy.service.problems import KINDS
from understudy.service.served import Served
from understudy.trees.show import shapes_picture

if TYPE_CHECKING:
    from understudy.service.data_sets import DataSet

_ALONE = ("front", "docs")
"""Pages that share no script with others."""


class Page:
    """A page that never changes while the service runs."""

    def __init__(
        self,
        html: str,
        *,
        scripts: Sequence[str],
        styles: Sequence[str],
        attributes: Sequence[str] = (),
        connects: bool = True,
    ) -> None:
        self._body = html.encode()
        # Only these scripts and styles may run: text from a card or an answer never can.
        asked = "'self'" if connects else "'none'"
        attributed = f"style-src-attr 'unsafe-hashes' {_sources(attributes)}; " if attributes else ""
        self._policy = (
            f"default-src 'none'; script-src {_sources(scripts)}; style-src {_sources(styles)}; "
            f"{attributed}connect-src {asked}; "
            "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )

    def response(self) -> Response:
        """The page as an answer."""
        return Response(
            self._body,
            media_type="text/html; charset=utf-8",
            headers={"Content-Security-Policy": self._policy, "X-Frame-Options": "DENY"},
        )

    @classmethod
    def front(cls, models: Mapping[str, Served], data: Sequence[str] = ()) -> Self:
        """`/`: a form for every model, the two case studies, and the way to the data sets."""
        return cls._made(
            "front",
            "Risk scores" if models else "Answers on the real data",
            data_sets=list(data),
            cards=[served.card for served in models.values()],
            pictures={name: _picture(served.card) for name, served in models.items()},
            data={"models": [{"card": served.card, "example": served.example} for served in models.values()]},
        )

    @classmethod
    def analyst(cls, data: "Mapping[str, DataSet]") -> Self:
        """`/ask`: a question tried on the release, quoted, sent, and its answer beside the synthetic one."""
        sets = [
            {
                "name": each.name,
                "title": each.book.title or each.name,
                "has_release": each.release is not None,
                "review": each.review,
                "columns": [
                    {"name": name, "description": each.book.column(name).description} for name in each.book.names
                ],
            }
            for each in data.values()
        ]
        return cls._made("ask", "Answers on the real data", sets=sets, data={"sets": sets})

    @classmethod
    def review(cls) -> Self:
        """`/review`: the queue of a steward."""
        return cls._made("review", "Questions to review", data={})

    @classmethod
    def written(cls, html: str) -> Self:
        """A page of ours that was made for a file: its own scripts and styles, and none that text might bring in."""
        found = [re.findall(rf"<{tag}(?: [^>]*)?>(.*?)</{tag}>", html, re.DOTALL) for tag in ("script", "style")]
        attributes = sorted(set(re.findall(r'<[a-z]+ [^<>]*?style="([^"<>]*)"', html)))
        return cls(html, scripts=found[0], styles=found[1], attributes=attributes, connects=False)

    @classmethod
    def docs(cls, description: Mapping[str, Any]) -> Self:
        """`/docs`: every address, with an example that can be sent."""
        operations = [
            {"path": path, "method": method.upper(), "id": f"{method}-{number}", **operation}
            for number, (path, methods) in enumerate(description["paths"].items())
            for method, operation in methods.items()
        ]
        schemas = {
            name: json.dumps(schema, indent=2, ensure_ascii=False)
            for name, schema in description["components"]["schemas"].items()
        }
        return cls._made(
            "docs",
            "Risk scores: the interface",
            info=description["info"],
            operations=operations,
            schemas=schemas,
            kinds=KINDS,
            data={},
        )

    @classmethod
    def _made(cls, name: str, title: str, *, data: Mapping[str, Any], **values: Any) -> Self:
        folder = files("understudy.service") / "pages"
        style = (folder / "pages.css").read_text(encoding="utf-8")
        names = (f"{name}.js",) if name in _ALONE else ("asking.js", f"{name}.js")
        scripts = [(folder / each).read_text(encoding="utf-8") for each in names]
        html = html_page(
            f"{name}.html",
            packages=("understudy.service",),
            folder="pages",
            title=title,
            style=style,
            data=data,
            scripts=scripts,
            security="",  # the answer's own header is stricter
            filters={"pretty": lambda value: json.dumps(value, indent=2, ensure_ascii=False)},
            **values,
        )
        return cls(html, scripts=scripts, styles=[page_style(style)])


def _picture(card: Mapping[str, Any]) -> str:
    """The shapes of an additive score; its labels are escaped."""
    return shapes_picture(card["shapes"], title=card["name"]) if card["shapes"] else ""


def _sources(texts: Sequence[str]) -> str:
    return " ".join(f"'{_digest(text)}'" for text in texts) or "'none'"


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
