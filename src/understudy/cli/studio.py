"""`studio`: the steward's path in a browser."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from understudy.cli import options as o
from understudy.cli.console import tell
from understudy.cli.shared import option, whole_option


def studio(
    root: Annotated[Path, option("Folder of the data sets; made where it is missing.", "--root")],
    port: Annotated[int, whole_option("Port to listen on; 0 for any free one.")] = 0,
    host: Annotated[str, option("Address to listen on; others than this machine need --behind.")] = "127.0.0.1",
    behind: Annotated[
        list[str] | None,
        option("Address of a proxy with TLS and logins, such as https://studio.example.org. May be repeated."),
    ] = None,
    browser: Annotated[
        bool, option("Open the address in a browser; one-time addresses are printed too.", "--open")
    ] = False,
    json: o.Json = False,
) -> None:
    """Open the studio: from a file to a signed release in the browser of this machine. Nothing leaves it."""
    from understudy.studio.run import studio as run

    def ready(addresses: Mapping[str, str]) -> None:
        lines = [f"the studio works in {root}; stop with Ctrl-C"]
        lines += [f"open {address}" + (f" ({person})" if person else "") for person, address in addresses.items()]
        lines.append("each address is good for one use")
        tell({"root": root, "addresses": addresses}, lines, json=json)
        sys.stdout.flush()

    run(root, ready=ready, host=host, port=port, public_address=behind or (), open_browser=browser)
