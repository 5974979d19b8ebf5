"""Limits that a board set beforehand: read from TOML, all faults at once, defaults with their sources."""

import pytest

from understudy.errors import ParameterError
from understudy.evaluate.board import SOURCES, Board, read_board
from understudy.parameters import options_of


def test_every_limit_has_a_source_and_keeps_its_default_unless_it_is_named(tmp_path):
    assert set(options_of(Board)) == {*SOURCES, "decided_by", "decided_on"}
    place = tmp_path / "board.toml"
    place.write_text('decided_by = "Us"\ndecided_on = 2026-11-02\nshare_error = 0.02\n')
    board = read_board(place)
    assert (board.share_error, board.attack_gain, board.day) == (0.02, Board().attack_gain, "2026-11-02")
    place.write_text("decided_on = 2026-11-02T10:30:00Z\n")
    assert read_board(place).day == "2026-11-02", "a day with a time of day is that day"
    place.write_text("decided_on = 2026-11-02T23:30:00-05:00\n")
    assert read_board(place).day == "2026-11-03", "releases are dated by the day of Greenwich"
    assert {Board(decided_on=text).day for text in ("2026-11-02", "20261102", "2026-W45-1")} == {"2026-11-02"}
    limits = board.to_dict()["limits"]
    assert limits["share_error"]["source"] == "set by the board" and set(limits) == set(SOURCES)
    assert limits["attack_gain"] == {
        "value": 0.09, "limits": options_of(Board)["attack_gain"].help, "source": SOURCES["attack_gain"]
    }  # fmt: skip


def test_all_faults_are_told_at_once(tmp_path):
    place = tmp_path / "board.toml"
    place.write_text('share_error = 3\nattack_gain = "much"\nshare_eror = 0.1\ndecided_on = "soon"\n')
    with pytest.raises(ParameterError) as told:
        read_board(place)
    words = str(told.value)
    for part in ("'share_error' is 3", "'attack_gain' is 'much'", "no limit 'share_eror'", "'decided_on' is 'soon'"):
        assert part in words
    for bad in ("share_error =", "\xff"):
        place.write_bytes(bad.encode("latin-1"))
        with pytest.raises(ParameterError, match="board"):
            read_board(place)
    with pytest.raises(ParameterError, match="cannot be read"):
        read_board(tmp_path / "none.toml")
