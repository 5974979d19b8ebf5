"""Hostile and wrong calls of every tool: whatever is asked, no byte on either stream tells of a row."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest
from agents_bench import (
    BOOK,
    CANARY,
    ODD_ROW,
    ODD_ROWS,
    PASSING_ON,
    START,
    WARDS,
    asked,
    assert_nothing_told,
    people,
    session,
)

import understudy as us
from understudy.agents.desk import CLOSING
from understudy.agents.phases import CLOSED, EMPTY, Told
from understudy.agents.run import open_desk
from understudy.errors import ParameterError, RefusalError
from understudy.privacy.account import ChargeState

ODD_VALUES = [
    None, "", " ", "x" * 100_000, "..", "../people.csv", "/etc/passwd", "people.csv", "holder/mine", "a\x00b", "\ud7ff",
    "<script>", "$(id)", "{{7*7}}", 0, -1, 1e308, 10**400, True, [], ["x"] * 1000, [[]], {}, {"a": {"b": []}},
    "count'; DROP TABLE people; --", "file:///etc/passwd", "duckdb:///people.db?table=t",
]  # fmt: skip
RIGHT = {
    "offers": {},
    "describe": {"codebook": "book"},
    "quote": {"question": "count", "epsilon": 0.1, "codebook": "book"},
    "forecast": {"codebook": "book", "rows_about": 100, "epsilon": 1, "delta": 1e-6},
    "verify": {"release": "release"},
    "infer": {"release": "release", "question": "count"},
    "answer": {
        "codebook": "book",
        "question": "share of ill=yes",
        "epsilon": 5.0,
    },  # above the cap: each variation is refused unpaid
    "draft_from_document": {"document": "paper", "name": "again"},
    "draft_at_price": {"name": "again", "epsilon": 5.0, "delta": 1e-6},
    "draft_for_holder": {"name": "book"},
}
SCRIPT = 'linear age ~ __import__("os").system("id") + ward'
ASKED = [
    ("nothing", {}),
    ("answer", {"question": "count by remark", "epsilon": 0.1}),
    ("answer", {"question": "mean of dose", "epsilon": 0.1}),
    ("answer", {"question": "share of ward=east", "epsilon": 0.1}),
    ("answer", {"question": SCRIPT, "epsilon": 0.1}),
    ("answer", {"question": "linear age ~ I(9**9**9 + age)", "epsilon": 0.1}),
    ("answer", {"question": "max of age", "epsilon": 0.1}),
    ("answer", {"question": "count", "epsilon": 0.1, "seed": 1}),
    ("answer", {"question": "count", "epsilon": 0.1, "unknown": "missing"}),
    ("answer", {"question": "count", "epsilon": 1e-300}),
    ("quote", {"of": "release", "rows": 10, "method": "gibbs"}),
    ("quote", {"of": "release", "rows": 10, "method": "pegs", "options": {"prior": "people.csv"}}),
    ("quote", {"of": "draft", "epsilon": 1, "delta": 1e-6, "drop": ["nobody"]}),
    ("forecast", {"rows_about": 10, "options": {"trust": "os"}}),
    ("forecast", {"rows_about": 10, "wanted": "who by remark", "epsilon": 1, "delta": 1e-6}),
    ("infer", {"release": "release", "logistic": [SCRIPT]}),
    ("infer", {"release": "release", "share": ["ward=east", "who=x"]}),
    ("infer", {"release": "release", "mean": ["remark"], "where": ["dose=1"]}),
    ("draft_at_price", {"name": "n", "epsilon": 0.1, "delta": 1e-6, "drop": [*people(1).column_names]}),
    ("draft_at_price", {"name": "n", "epsilon": 0.1, "delta": 1e-6, "bins": 7}),
    ("draft_at_price", {"name": "book", "epsilon": 0.1, "delta": 1e-6}),
]


TOLD_TO_THE_HOLDER = f"'ward' ({ODD_ROWS} rows)"


def spoil(path, *, keeping_the_stamp: bool) -> None:
    """Put a text of as many bytes into the odd rows, in the place of the ward."""
    before = path.stat()
    lines = path.read_bytes().split(b"\n")
    for place in range(ODD_ROW, ODD_ROW + ODD_ROWS):
        ward = next(ward.encode() for ward in WARDS if ward.encode() in lines[place])
        lines[place] = lines[place].replace(ward, CANARY.encode().ljust(len(ward), b"!"))
    with path.open("r+b") as file:
        file.write(b"\n".join(lines))
    if keeping_the_stamp:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_no_call_of_any_tool_tells_of_a_row(house):
    asyncio.run(_hostile(house))
    assert_nothing_told(house.sent())
    assert TOLD_TO_THE_HOLDER in house.log  # it did come to the words, and they are where they belong
    charges = [charge for charge in house.account.history() if charge.allowance == "agents"]
    committed = [charge.label for charge in charges if charge.state is not ChargeState.CANCELLED]
    assert committed == ["answer: share of ill=yes", "priced draft of a codebook"]  # one for each that was paid for
    assert not [path for path in (house.root / "agents").rglob("*") if "passwd" in path.name or ".." in path.name]


async def _hostile(house):
    async with session(house) as client:
        for tool, right in RIGHT.items():
            schema = next(one for one in (await client.list_tools()).tools if one.name == tool).input_schema
            for name in [*schema["properties"], "stranger"]:
                for value in ODD_VALUES:
                    reply = await client.call_tool(tool, {**right, name: value})
                    left_out = value is None and name not in schema["required"]
                    empty = value in ([], {}) and name not in right
                    assert reply.is_error or left_out or empty, (tool, name, value)
        for tool, given in ASKED:
            of_book = tool in ("answer", "forecast") or (tool == "quote" and given["of"] == "release")
            reply = await asked(client, tool, **({"codebook": "book"} if of_book else {}), **given)
            assert isinstance(reply, str) and "`codebook` is missing" not in reply, (tool, given)
        assert isinstance(
            await asked(client, "answer", question="share of ill=yes", epsilon=0.1, codebook="book"), dict
        )
        assert await asked(client, "draft_at_price", name="none", epsilon=0.001, delta=1e-9) == EMPTY
        for drop in ([], ["nobody"], ["who"]):  # the reply is the same whatever comes of it
            reply = await asked(client, "draft_for_holder", name=f"mine-{len(drop)}-{len(''.join(drop))}", drop=drop)
            assert set(reply) == {"file", "words"}
            again = await asked(client, "draft_for_holder", name=Path(reply["file"]).stem, drop=drop)
            assert "of the name" in again  # also where none was made: that there is no column `nobody` is not told
        # rows of people in the place of released ones
        pq.write_table(people().select(BOOK.names), house.root / "release" / "synthetic.parquet")
        assert (await asked(client, "verify", release="release"))["is_valid"] is False
        assert "changed after it was checked" in await asked(client, "infer", release="release", question="count")
        # a row that does not fit, in a file that looks as it did
        spoil(house.root / "people.csv", keeping_the_stamp=True)
        assert await asked(client, "answer", question="share of ward=north", epsilon=0.1, codebook="book") == CLOSED
        assert (
            await asked(client, "answer", question="share of ill=yes by ward", epsilon=0.1, codebook="book") == CLOSED
        )
        assert await asked(client, "draft_at_price", name="n", epsilon=0.1, delta=1e-6) == CLOSED
        assert set(await asked(client, "draft_for_holder", name="after")) == {"file", "words"}
        offers = await asked(client, "offers")
        assert offers["data"]["is_closed"] and not offers["codebooks"][0]["can_answer"]
        bought = await asked(client, "answer", question="share of ill=yes", epsilon=0.1, codebook="book")
        assert bought["charged"]["epsilon"] == 0  # what was paid for can still be read


def test_a_data_set_stays_closed_until_the_holder_opens_it(house):
    """A client starts servers as often as it likes, and each might learn one bit."""

    def desk():
        return open_desk(house.root, account="a.account", cap_epsilon=1, data="people.csv", codebooks=["book.toml"])

    first, beside = desk(), desk()
    spoil(house.root / "people.csv", keeping_the_stamp=True)
    with pytest.raises(Told, match="the data set is closed"):
        first.answer(question="share of ward=north", epsilon=0.1)
    pv.write_csv(people(), house.root / "people.csv")
    for later in (first, beside, desk()):
        assert later.is_closed and later.offered()["data"]["is_closed"]
        with pytest.raises(Told, match="removing the file `closed`"):
            later.answer(question="share of ward=north", epsilon=0.1)
    (house.root / "agents" / "holder" / CLOSING).unlink()
    assert desk().answer(question="share of ward=north", epsilon=0.1)["charged"]["epsilon"] == 0.1


def test_data_that_were_exchanged_are_not_used(house):
    desk = open_desk(house.root, account="a.account", cap_epsilon=1, data="people.csv", codebooks=["book.toml"])
    spoil(house.root / "people.csv", keeping_the_stamp=False)
    with pytest.raises(Told, match="the data set was changed after it was checked"):
        desk.answer(question="count by ward", epsilon=0.1)
    assert not desk.is_closed and TOLD_TO_THE_HOLDER not in house.log
    assert [charge for charge in house.account.history() if charge.allowance] == []


def test_a_server_does_not_start_on_rows_that_do_not_fit(house):
    """What is wrong with them is in the log; the client that started the server gets a sentence."""
    spoil(house.root / "people.csv", keeping_the_stamp=False)
    words = [sys.executable, PASSING_ON, str(house.root / "streams"), sys.executable, "-c", START]
    done = subprocess.run(
        [*words, *house.words(release=None)], stdin=subprocess.DEVNULL, capture_output=True, timeout=900, check=False
    )
    told = " ".join(done.stderr.decode().split())
    assert done.returncode == 1 and done.stdout == b""
    assert "the codebook 'book' cannot be offered" in told and "agents/holder/confidential.log" in told
    assert_nothing_told(house.sent())
    assert TOLD_TO_THE_HOLDER in house.log


@pytest.mark.parametrize("what", ["codebook", "release", "rows", "no promise"])
def test_what_is_not_public_is_not_offered(house, what):
    offering = {}
    if what == "codebook":
        us.draft(house.root / "people.csv", house.root / "drafted.toml", drop=["who", "remark", "dose"])
        offering["codebooks"] = ["drafted.toml"]
    elif what == "release":
        pq.write_table(people().select(BOOK.names), house.root / "release" / "synthetic.parquet")
        offering["releases"] = ["release"]
    elif what == "no promise":
        us.synthesize(house.root / "people.csv", BOOK, rows=50, method="gibbs", out=house.root / "plain")
        offering["releases"] = ["plain"]
    else:
        (house.root / "people.csv").write_text("ward,age,ill\n", encoding="utf-8")
        offering["data"] = "people.csv"
    with pytest.raises(RefusalError, match="cannot be offered") as refused:
        open_desk(house.root, account="a.account", cap_epsilon=1, **offering)
    assert_nothing_told(str(refused.value).encode())
    assert refused.value.__cause__ is None and "confidential.log" in str(refused.value)


def test_links_that_lead_out_of_the_root_are_refused(house, tmp_path):
    pv.write_csv(people(30), tmp_path / "outside.csv")
    (house.root / "link.csv").symlink_to(tmp_path / "outside.csv")
    (house.root / "folder").symlink_to(tmp_path)
    for path in ("link.csv", "folder/outside.csv", "../outside.csv", str(tmp_path / "outside.csv"), "agents/x.csv"):
        with pytest.raises(ParameterError, match=r"not inside the root|the server writes"):
            open_desk(house.root, account="a.account", cap_epsilon=1, data=f"d={path}")
