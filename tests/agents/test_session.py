"""The whole path with the protocol's own client, over the streams of a real process."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import jsonschema
import pytest
from agents_bench import ROWS, WARDS, asked, session

from understudy.agents.phases import Told
from understudy.agents.run import open_desk
from understudy.facade import answers, codebooks
from understudy.privacy.account import Allowance, ChargeState

TOOLS = {
    "offers", "describe", "quote", "forecast", "verify", "infer",
    "answer", "draft_from_document", "draft_at_price", "draft_for_holder",
}  # fmt: skip
COSTING = {"answer", "draft_at_price"}


def test_an_agent_goes_the_whole_path(house):
    asyncio.run(_whole_path(house))
    charges = [charge for charge in house.account.history() if charge.allowance == "agents"]
    assert [charge.state for charge in charges] == [ChargeState.COMMITTED] * 3  # one for each thing that was bought
    assert [charge.label for charge in charges] == [
        "answer: count by ward", "priced draft of a codebook", "answer: share of ill=yes by ward",
    ]  # fmt: skip
    assert sum(charge.guarantee.epsilon for charge in charges) <= 1
    free = house.root / "agents" / "holder" / "mine.toml"
    assert free.stat().st_mode & 0o777 == 0o600 and "north" in free.read_text(encoding="utf-8")
    assert not any(path.read_bytes() for path in (house.root / "streams").glob("*.err"))  # nothing for any client's log


async def _whole_path(house):
    async with session(house) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == TOOLS
        for name, tool in tools.items():
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)
            assert tool.annotations.destructive_hint == (name in COSTING)
            assert tool.annotations.read_only_hint == (name not in COSTING and not name.startswith("draft"))
            assert ("COSTS" in tool.description) == (name in COSTING)

        offers = await asked(client, "offers")
        assert offers["data"] == {"name": "people", "is_closed": False}
        assert offers["codebooks"] == [{"name": "book", "origin": "holder", "can_answer": True}]
        assert [release["name"] for release in offers["releases"]] == ["release"]
        assert offers["documents"] == ["paper"] and offers["answers"] == []
        assert offers["budget"] == {"cap_epsilon": 1.0, "cap_delta": 1e-5, "epsilon": 1.0, "delta": 1e-5}
        columns = {column["name"]: column for column in (await asked(client, "describe"))["columns"]}
        assert columns["ward"]["levels"] == list(WARDS) and "who" not in columns

        terms = {"question": "count by ward", "epsilon": 0.2}
        quote = await asked(client, "quote", **terms)
        assert quote["is_covered"] and quote["price"]["epsilon"] == pytest.approx(0.2)
        outlook = await asked(client, "forecast", rows_about=3000, epsilon=1, delta=1e-6)
        assert "no data was read" in outlook["words"][0]
        assert (await asked(client, "offers"))["budget"]["epsilon"] == 1.0  # nothing of it was charged

        bought = await asked(client, "answer", **terms)
        assert bought["charged"]["epsilon"] == pytest.approx(0.2)
        assert bought["budget"]["epsilon"] == pytest.approx(0.8)
        assert len(bought["figures"]) == len(WARDS)
        # noise of a count at epsilon 0.2: beyond 150 with probability below e^-30
        assert sum(figure["estimate"] for figure in bought["figures"]) == pytest.approx(ROWS, abs=300)
        again = await asked(client, "answer", question="  Count  by ward", epsilon=0.2)  # the same in other words
        assert again["charged"] == {"epsilon": 0.0, "delta": 0.0} and again["figures"] == bought["figures"]

        document = await asked(client, "draft_from_document", document="paper", name="from-paper")
        assert [column["name"] for column in document["columns"]] == ["ward", "age"] and not document["can_answer"]
        unchecked = await asked(client, "answer", question="count", epsilon=0.1, codebook="from-paper")
        assert "was not held against the rows" in unchecked
        quote = await asked(client, "quote", of="draft", epsilon=0.5, delta=1e-6, drop=["who", "remark", "dose"])
        assert quote["is_covered"] and quote["outlook"]
        plan = {"epsilon": 0.5, "delta": 1e-6, "drop": ["who", "remark", "dose"]}
        drafted = await asked(client, "draft_at_price", name="paid", **plan)
        assert drafted["charged"] == {"epsilon": 0.5, "delta": 1e-6} and drafted["can_answer"]

        more = {"question": "share of ill=yes by ward", "epsilon": 0.2, "codebook": "paid"}
        quote = await asked(client, "quote", **more)
        assert quote["price"]["epsilon"] == pytest.approx(0.2)  # the draft was paid for and is not charged again
        assert (await asked(client, "answer", **more))["budget"]["epsilon"] == pytest.approx(0.1)
        refusal = await asked(client, "answer", question="mean of age", epsilon=0.2, codebook="book")
        assert "would cost epsilon 0.2" in refusal and "epsilon 0.1" in refusal and "Nothing was charged" in refusal

        assert (await asked(client, "verify", release="release"))["is_valid"]
        assert (await asked(client, "verify", release=bought["name"]))["is_valid"]
        told = await asked(client, "infer", release="release", question="count by ward", target="table")
        assert [figure["name"] for figure in told["figures"]] == [f["figure"] for f in bought["figures"]]
        assert (await asked(client, "infer", release="release", mean=["age"]))["figures"]
        free = await asked(client, "draft_for_holder", name="mine")
        assert free["file"] == "agents/holder/mine.toml"
        answers = (await asked(client, "offers"))["answers"]
        assert {answer["question"] for answer in answers} == {"count by ward", "share of ill=yes by ward"}


def test_a_cap_holds_across_restarts_and_names(house):
    async def twice():
        async with session(house, cap_epsilon="0.3", release=None) as client:
            await asked(client, "answer", question="count", epsilon=0.2)
        async with session(house, cap_epsilon="0.3", release=None) as client:
            assert (await asked(client, "offers"))["budget"]["epsilon"] == pytest.approx(0.1)
            assert "Nothing was charged" in await asked(client, "answer", question="count by ill", epsilon=0.2)
            again = await asked(client, "answer", question="count", epsilon=0.2)
            assert again["charged"]["epsilon"] == 0  # what was bought before the restart is still there
        async with session(house, cap_epsilon="0.3", release=None, allowance="others") as client:
            assert (await asked(client, "offers"))["budget"]["epsilon"] == pytest.approx(0.3)

    asyncio.run(twice())


@pytest.mark.long
def test_two_servers_and_many_calls_never_exceed_a_cap(house):
    """Ten questions at 0.1 through two servers that share a cap of 0.5: five are answered."""
    questions = ["count where ward=north", "count where ill=yes"]
    questions += ["count", "count by ill", "count by ward", "table of ward, ill", "mean of age", "mean of age by ill",
                  "share of ill=yes", "share of ward=north"]  # fmt: skip

    async def storm():
        async with (
            session(house, cap_epsilon="0.5", release=None) as first,
            session(house, cap_epsilon="0.5", release=None) as second,
        ):
            return await asyncio.gather(
                *(asked(client, "answer", question=text, epsilon=0.1)
                  for text, client in zip(questions, [first, second] * 5, strict=True))
            )  # fmt: skip

    replies = asyncio.run(storm())
    answered = [reply for reply in replies if isinstance(reply, dict)]
    assert len(answered) == 5, replies
    refused = [reply for reply in replies if isinstance(reply, str)]
    assert all("Nothing was charged" in reply or "refuses the price" in reply for reply in refused)
    charges = [charge for charge in house.account.history() if charge.allowance == "agents"]
    assert [charge.state for charge in charges] == [ChargeState.COMMITTED] * 5
    left = house.account.within(Allowance(name="agents", epsilon=0.5, delta=0.0)).left()
    assert left[0] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("what", ["answer", "draft"])
def test_two_servers_that_are_asked_for_the_same_at_once(house, monkeypatch, what):
    """One buys it and the other waits: a folder that is taken while rows are open would close the data set."""
    offering = {"account": "a.account", "cap_epsilon": 1, "cap_delta": 1e-5, "data": "people.csv"}
    desks = [open_desk(house.root, codebooks=["book.toml"], public_header=True, **offering) for _ in range(2)]
    room, name = (answers, "answer") if what == "answer" else (codebooks, "draft")
    buy, entered, are_both_in = getattr(room, name), [], threading.Event()

    def slow(*given, **named):
        entered.append(named)
        if len(entered) == 1:
            are_both_in.wait(3)  # long enough for the other to come in, if nothing keeps it out
        else:
            are_both_in.set()
        return buy(*given, **named)

    monkeypatch.setattr(room, name, slow)

    def asking(desk):
        if what == "answer":
            return desk.answer(question="count by ward", epsilon=0.2)
        try:
            return desk.draft_at_price(name="new", epsilon=0.2, delta=1e-6, drop=["who", "remark", "dose"])
        except Told as reason:
            return str(reason)

    with ThreadPoolExecutor(2) as pool:
        replies = list(pool.map(asking, desks))
    assert len(entered) == 1 and not any(desk.is_closed for desk in desks)
    charged = [reply["charged"]["epsilon"] for reply in replies if isinstance(reply, dict)]
    assert sorted(charged) == ([0.0, 0.2] if what == "answer" else [0.2])
    assert all("choose another name" in reply for reply in replies if isinstance(reply, str))
    charges = [charge for charge in house.account.history() if charge.allowance == "agents"]
    assert [charge.state for charge in charges] == [ChargeState.COMMITTED]
