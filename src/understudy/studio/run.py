"""Start the studio: a port of this machine, and one address for each person, good for one use."""

import contextlib
import threading
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.errors import ParameterError, UnderstudyError
from understudy.extras import need
from understudy.parameters import Whole

if TYPE_CHECKING:
    from understudy.studio.workspace import Dataset, Root

_LOCAL = ("127.0.0.1", "localhost", "::1")
_MOST_WARM = 3
"""Data sets whose price is computed before anybody asks for it."""


def studio(
    root: str | Path,
    *,
    ready: Callable[[Mapping[str, str]], None],
    host: str = "127.0.0.1",
    port: int = 0,
    public_address: Sequence[str] = (),
    open_browser: bool = False,
) -> None:
    """Answer until stopped; ``ready`` hears the one-time address of each person.

    ``public_address`` are addresses such as ``https://studio.example.org`` under which a proxy with logins of its own
    passes requests on; without one, only this machine is listened to.
    """
    need("fastapi", "uvicorn", "jinja2", extra="studio", what="the studio")
    from understudy.facade.peeks import read_databases_alone
    from understudy.front.serving import answer, bound, shown_address
    from understudy.studio.app import create_app
    from understudy.studio.guard import Keys
    from understudy.studio.workspace import Root

    if host not in _LOCAL and not public_address:
        raise ParameterError(
            f"`host` is {host!r}, which others can reach; the studio shows confidential rows and has no passwords. "
            "Leave it out, or put a proxy with TLS and logins in front and name its address (--behind "
            "https://studio.example.org)."
        )
    Whole(least=0, most=65535, tried=8000).check("port", port)
    proxies = {checked_origin(words) for words in public_address}
    workspace = Root.at(root)
    keys = Keys(workspace.settings["people"])
    listening = bound(host, port)
    address = shown_address(listening)
    number = listening.getsockname()[1]
    origins = {f"http://{name}:{number}" for name in ("127.0.0.1", "localhost", "[::1]")} | proxies
    hosts = {origin.partition("://")[2] for origin in origins}
    app = create_app(workspace, keys, hosts=hosts, origins=origins, port=number, secure=bool(proxies))
    read_databases_alone()
    _warm_up(workspace)
    front = min(proxies) if proxies else f"http://{address}"
    addresses = {person: f"{front}/enter?token={token}" for token, person in keys.waiting.items()}
    ready(addresses)
    if open_browser:
        webbrowser.open(next(iter(addresses.values())))
    answer(app, listening)


def _warm_up(workspace: "Root") -> None:
    """Let the first answer of each screen come as fast as the others, before anybody is told the address.

    Templates are compiled, codebooks are read, and what prices need is loaded. Prices of data sets that are there are
    computed beside the first screens.
    """
    from understudy.facade.forecasts import load_prices
    from understudy.studio.books import progress_of
    from understudy.studio.frame import environment

    for name in environment().list_templates(extensions=("html",)):
        environment().get_template(name)
    load_prices()
    owned = workspace.datasets()
    for own in owned:
        with contextlib.suppress(UnderstudyError, OSError):
            progress_of(own)
    threading.Thread(target=_find_prices, args=(owned[:_MOST_WARM],), daemon=True).start()


def _find_prices(owned: "Sequence[Dataset]") -> None:
    from understudy.studio import plans

    for own in owned:
        with contextlib.suppress(Exception):  # the screen that asks for the same will tell what is wrong
            plans.offer(own, plans.asked_plan(own, {}))


def checked_origin(words: str) -> str:
    """An address as browsers send it: scheme and host, perhaps a port.

    >>> checked_origin("https://Studio.example.org/")
    'https://studio.example.org'
    """
    from urllib.parse import urlsplit

    parts = urlsplit(words)
    if parts.scheme != "https" or not parts.hostname or parts.path not in ("", "/") or parts.query or parts.username:
        raise ParameterError(
            f"`behind` is {words!r}; write the address of the proxy, such as https://studio.example.org."
        )
    return f"https://{parts.netloc.lower()}"
