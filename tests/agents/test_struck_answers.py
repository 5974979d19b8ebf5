"""An answer of agents struck at every point of its payment: the account keeps to the policy of all paying commands."""

import pytest
from struck import POINTS_AND_BLOWS, expected, striking

from understudy.agents.phases import CLOSED, Told
from understudy.agents.run import open_desk
from understudy.privacy.account import ChargeState


@pytest.mark.parametrize(
    ("point", "blow"),
    [
        one if place % 4 == place // 5 % 4 else pytest.param(*one, marks=pytest.mark.long)
        for place, one in enumerate(POINTS_AND_BLOWS)
    ],
)
def test_the_policy_holds_for_answers_of_agents(house, monkeypatch, point, blow):
    desk = open_desk(house.root, account="a.account", cap_epsilon=1, data="people.csv", codebooks=["book.toml"])
    before = len(house.account.history())
    struck = striking(monkeypatch, point, blow)
    with pytest.raises(Told) as told:
        desk.answer(question="count", epsilon=0.4)
    assert struck == [point] and str(told.value) == CLOSED
    (charge,) = house.account.history()[before:]
    assert charge.state in expected(point, blow, seen_early=False) and charge.allowance == "agents"
    left = 1.0 if charge.state is ChargeState.CANCELLED else 0.6
    offers = desk.offered()
    assert offers["budget"]["epsilon"] == pytest.approx(left) and offers["answers"] == []
    assert list((house.root / "agents" / "answers").iterdir()) == []
    with pytest.raises(Told, match="the data set is closed"):  # what failed once is not asked until it works
        desk.answer(question="count", epsilon=0.4)
    assert len(house.account.history()) == before + 1
