"""The NHDS experiment without its data."""

import pytest

from experiments.nhds.run import main
from experiments.nhds.tables import chapter


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("0010", "infections"),
        ("1400", "neoplasms"),
        ("64403", "pregnancy"),
        ("V3000", "supplementary"),
        ("9999", "injuries"),
    ],
)
def test_chapters_are_those_of_the_manual(code, name):
    assert chapter(code) == name


def test_without_the_data_it_says_so(monkeypatch, capsys):
    monkeypatch.delenv("UNDERSTUDY_DATA", raising=False)
    main(quick=True)
    assert "left out: UNDERSTUDY_DATA" in capsys.readouterr().out
