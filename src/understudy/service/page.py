"""The built-in pages: one HTML answer each, everything inside, nothing loaded from anywhere."""

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Self

from starlette.responses import Response

from understudy.pages.shell import html_page, page_style
from understudy.service.problems import KINDS
from understudy.service.served import Served
from understudy.trees.show import shapes_picture


class Page:
    """A page that never changes while the service runs."""

    def __init__(self, html: str, *, script: str, style: str) -> None:
        self._body = html.encode()
        # Only this one script and this one style may run: text from a card or an answer never can.
        self._policy = (
            f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; connect-src 'self'; "
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
    def front(cls, models: Mapping[str, Served]) -> Self:
        """`/`: a form for every model, and the two case studies."""
        return cls._made(
            "front",
            "Risk scores",
            cards=[served.card for served in models.values()],
            pictures={name: _picture(served.card) for name, served in models.items()},
            data={"models": [{"card": served.card, "example": served.example} for served in models.values()]},
        )

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
        script = (folder / f"{name}.js").read_text(encoding="utf-8")
        html = html_page(
            f"{name}.html",
            packages=("understudy.service",),
            folder="pages",
            title=title,
            style=style,
            data=data,
            scripts=[script],
            security="",  # the answer's own header is stricter
            filters={"pretty": lambda value: json.dumps(value, indent=2, ensure_ascii=False)},
            **values,
        )
        return cls(html, script=script, style=page_style(style))


def _picture(card: Mapping[str, Any]) -> str:
    """The shapes of an additive score; its labels are escaped."""
    return shapes_picture(card["shapes"], title=card["name"]) if card["shapes"] else ""


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
