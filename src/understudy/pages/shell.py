"""One HTML document for every page: title, style for light and dark screens, policy, body, data and scripts.

A room writes the body as a template that extends ``shell.html``, or gives it as ``main``. Everything stands inside the
page, and its policy forbids to load anything.
"""

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from understudy.pages.numbers import moment, number, percent, plain
from understudy.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

MARKER = "understudy page, made from confidential data"
"""Near the top of every page with confidential figures: a later run may overwrite such a file, and no other."""
PUBLIC_MARKER = "understudy page, made from a release"
"""The same of pages that hold nothing but a release and public facts."""


def policy(images: str = "data: blob:", *, scripts: bool = True) -> str:
    """What a page in a file may do: use the styles and, with ``scripts``, run the scripts in it, and load nothing."""
    run = "script-src 'unsafe-inline'; " if scripts else ""
    return f"default-src 'none'; {run}style-src 'unsafe-inline'; img-src {images}"


def html_page(
    template: str = "shell.html",
    *,
    title: str,
    main: str = "",
    packages: Sequence[str] = (),
    folder: str = "",
    style: str = "",
    data: Any = None,
    data_id: str = "data",
    scripts: Sequence[str] = (),
    marker: str | None = None,
    security: str | None = None,
    filters: Mapping[str, Callable[..., Any]] | None = None,
    **values: Any,
) -> str:
    """Fill ``template`` of one of the ``packages``, or put ``main`` into the shell itself.

    ``main``, ``style`` and ``scripts`` are text of our own and are not escaped. ``data`` is put beside the scripts as
    JSON. ``security`` is the policy that the page states, where it is not :func:`policy`; an empty one states none, for
    servers that send theirs.
    """
    from markupsafe import Markup

    environment = page_environment(packages, folder, filters)
    stated = policy() if security is None else security
    fixed = {
        "title": title,
        "version": __version__,
        "marker": marker,
        "policy": Markup(html.escape(stated, quote=False).replace('"', "&quot;")),
        "style": Markup(page_style(style)),
        "data": "" if data is None else Markup(script_json(data)),  # nothing in it can end the script
        "data_id": data_id,
        "scripts": [Markup(script) for script in scripts],
        "main": Markup(main),
    }
    defaults = {"sub": "", "banner": "", "flag": "Confidential.", "sections": ()}
    return environment.get_template(template).render(**{**defaults, **values, **fixed})


def page_environment(
    packages: Sequence[str], folder: str = "", filters: Mapping[str, Callable[..., Any]] | None = None
) -> "Environment":
    """Where templates are found, and how they write numbers and words."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    loaders = [*(PackageLoader(package, folder) for package in packages), PackageLoader("understudy.pages", "")]
    environment = Environment(loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined)
    environment.filters |= {
        "number": number,
        "plain": plain,
        "percent": percent,
        "moment": moment,
        "whole": "{:,}".format,
        "code": lambda words: Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(words)))),
        **(filters or {}),
    }
    return environment


def page_style(own: str = "") -> str:
    """The style of all pages, followed by a page's own."""
    return resources.files("understudy.pages").joinpath("shell.css").read_text(encoding="utf-8") + own


def script_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever a level is called.

    >>> script_json({"a": "</script><!--"})
    '{"a":"\\\\u003c/script\\\\u003e\\\\u003c!--"}'
    """
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
