"""The reader of the first format of accounts: a table of terms and a table of charges, as understudy 0.1 wrote them."""

import sqlite3
import uuid
from typing import Any


def lines_of_version_1(connection: sqlite3.Connection) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    """The terms, with an identity that such an account did not have, and every charge as the lines it would be now."""
    cursor = connection.execute(
        "SELECT dataset, epsilon, delta, neighbours, composition, renyi_order, created FROM terms"
    )
    names = [column[0] for column in cursor.description]
    terms = {"identity": uuid.uuid4().hex, **dict(zip(names, cursor.fetchone(), strict=True))}
    cursor = connection.execute("SELECT * FROM charges ORDER BY number")
    names = [column[0] for column in cursor.description]
    lines: list[tuple[str, dict[str, Any]]] = []
    for row in cursor.fetchall():
        charge = dict(zip(names, row, strict=True))
        kept = {name: charge[name] for name in ("label", "ledger", "delta", "cost", "total")}
        lines.append(("reserved", {"charge": charge["number"], "when": charge["reserved"], **kept}))
        if charge["state"] != "held":
            settled = {"charge": charge["number"], "when": charge["settled"], "release": charge["release_id"]}
            lines.append((charge["state"], settled))
    return terms, lines
