"""A data set full of words and numbers that occur nowhere else, and a server for it in a process of its own.

Everything that the server writes to either stream is kept, byte for byte (``passing_on.py``).
"""

import json
import re
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
from mcp import Client, StdioServerParameters, stdio_client

import understudy as us
from understudy.codebook import Categorical, Codebook, Integer, Text
from understudy.codebook.columns import Role
from understudy.facade.releases import create_account
from understudy.privacy.account import Account

ROWS = 2711
ODD_ROW, ODD_ROWS = 1931, 613
"""Where values begin that do not fit, and how many, where a test puts them in."""
WARDS = ("north", "south")
CANARY = "QZX"
"""Every text of the table that is not public begins so."""

BOOK = Codebook(
    columns=(
        Text(name="who", role=Role.IDENTIFIER),
        Categorical(name="ward", levels=WARDS),
        Integer(name="age", edges=(Fraction(0), Fraction(40), Fraction(120))),
        Categorical(name="ill", levels=("no", "yes")),
    )
)
DOCUMENT = {
    "fields": [
        {"name": "ward", "type": "string", "constraints": {"enum": list(WARDS)}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 119}},
    ]
}


def people(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(7)
    return pa.table(
        {
            "who": [f"{CANARY}{number:05d}W" for number in range(rows)],
            "ward": rng.choice(WARDS, rows, p=[0.61, 0.39]),
            "age": rng.integers(0, 120, rows),
            "ill": rng.choice(["no", "yes"], rows, p=[0.83, 0.17]),
            "remark": [f"{CANARY}{number:05d}R" for number in range(rows)],
            "dose": [f"7391.{number:05d}" for number in range(rows)],
        }
    )


@dataclass(frozen=True)
class House:
    """A root with data, codebook, account, release and document."""

    root: Path

    @property
    def account(self) -> Account:
        return Account.open(self.root / "a.account")

    @property
    def log(self) -> str:
        path = self.root / "agents" / "holder" / "confidential.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def sent(self) -> bytes:
        """Every byte that any server of this house wrote to its streams."""
        return b"".join(path.read_bytes() for path in sorted((self.root / "streams").iterdir()))

    def words(self, **changed) -> list[str]:
        offered = {
            "--root": str(self.root),
            "--account": "a.account",
            "--cap-epsilon": "1",
            "--cap-delta": "1e-5",
            "--data": "people=people.csv",
            "--codebook": "book=book.toml",
            "--release": "release",
            "--document": "paper=paper.json",
            "--public-header": "",
            **{f"--{name.replace('_', '-')}": value for name, value in changed.items()},
        }
        given = [(name, value) for name, value in offered.items() if value is not None]
        return ["mcp", *(word for name, value in given for word in ((name, value) if value else (name,)))]


def furnish(root: Path, *, release: bool = True) -> House:
    (root / "streams").mkdir(parents=True)
    pv.write_csv(people(), root / "people.csv")
    BOOK.save(root / "book.toml")
    (root / "paper.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    create_account(root / "a.account", dataset="people", epsilon=50, delta=1e-3, neighbours="add-remove")
    if release:
        us.synthesize(
            root / "people.csv", root / "book.toml", rows=500, epsilon=20, delta=1e-5, out=root / "release",
            account=root / "a.account",
        )  # fmt: skip
    return House(root=root)


PASSING_ON = str(Path(__file__).with_name("passing_on.py"))
ENVIRONMENT = {"PYTHONPATH": str(Path(us.__file__).parents[1])}
"""The library of the protocol hands on little else of ours; the server is to be of the same source as the test."""
START = "from understudy.cli.start import main; main()"


@asynccontextmanager
async def session(house: House, *, start: str = START, **changed):
    """The protocol's own client, speaking to a server of this house."""
    words = [PASSING_ON, str(house.root / "streams"), sys.executable, "-c", start, *house.words(**changed)]
    server = StdioServerParameters(command=sys.executable, args=words, env=ENVIRONMENT)
    async with Client(stdio_client(server), read_timeout_seconds=900) as client:
        yield client


async def asked(client, tool: str, **arguments):
    """What a tool sends: its facts, or the sentence of its refusal."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    if result.is_error:
        assert result.structured_content is None
        return content.text
    assert json.loads(content.text) == result.structured_content
    return result.structured_content


def assert_nothing_told(sent: bytes) -> None:
    """No text of the table, none of its unique numbers, no count of its rows, not where odd ones are or how many."""
    text = sent.decode("utf-8", errors="replace")
    text = re.sub(r'"id": ?\d+|\.\./people\.csv', "", text)  # numbers of calls and odd words, which the client gives
    assert CANARY not in text and "7391." not in text
    table = people()
    counts = {ROWS, ROWS - 1, ROWS + 1, ODD_ROW, ODD_ROW - 1, ODD_ROW + 1, ODD_ROW + 2, ODD_ROWS}
    counts |= {table.column("ward").to_pylist().count(ward) for ward in WARDS}
    counts |= {table.column("ill").to_pylist().count(ill) for ill in ("no", "yes")}
    for count in counts:
        for spelled in {f"{count:,}", str(count)}:
            # a noisy figure of a release may begin like a count, and has a fraction
            assert not re.search(rf"(?<![\d.\w-]){re.escape(spelled)}(?![\d\w-]|\.\d*[1-9])", text), spelled
    assert "Traceback" not in text and "/people.csv" not in text
