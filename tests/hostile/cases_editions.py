"""Notices, forecasts of editions, and codebooks of linked tables made from one table or from a template."""

from hostile_cases import MISTAKE, Case, cases

_REPEATS = b"id,sex,ward\n1,F,A\n1,M,B\n2,F,A\n"
_HEAD = b"format = 1\n[tables.people]\nkey = 'id'\n[[tables.people.columns]]\nname = 'sex'\nkind = 'categorical'\nlevels = ['F', 'M']\n"
_CHILD = b"[tables.stays]\nparent = 'people'\nparent_key = 'id'\ncap = %b\n[[tables.stays.columns]]\nname = 'ward'\nkind = 'categorical'\nlevels = ['A', 'B']\n"
_CYCLE = _HEAD.replace(b"key = 'id'", b"key = 'id'\nparent = 'stays'\nparent_key = 'x'\ncap = 2") + _CHILD % b"2"
_SYNTH = "d|-c|b.toml|--epsilon|1|--delta|1e-6|-n|5|-o|out"
_PEOPLE = {"d/people.csv": b"id,sex\n1,F\n2,M\n", "b.toml": _HEAD + _CHILD % b"2"}

EDITION_CASES: list[Case] = cases(
    "release withdraw",
    ("missing", "gone|--why|x", MISTAKE, ("no release folder 'gone'",)),
    ("no reason", "@release|--why|", MISTAKE, ("--why is empty",)),
) + cases(
    "release supersede",
    ("missing", "gone|@release", MISTAKE, ("no release folder 'gone'",)),
    ("by nothing", "@release|gone", MISTAKE, ("no release folder 'gone'",)),
) + cases(
    "account forecast",
    ("missing", "gone.json", MISTAKE, ("does not exist",)),
) + cases(
    "codebook template",
    ("an unknown one", "gone|-o|x.toml", MISTAKE, ("no template 'gone'", "omop")),
) + cases(
    "codebook split",
    ("missing", "gone.csv|--person|id", MISTAKE, ("no file 'gone.csv'",)),
    ("no such person", "d.csv|--person|who|--constant|sex|--cap|2|-o|x.toml", MISTAKE, ("who",), {"d.csv": _REPEATS}),
) + cases(
    "synth",
    ("linked: a missing table", _SYNTH, MISTAKE, ("stays",), _PEOPLE),
    ("linked: a cycle", _SYNTH, MISTAKE, ("parent",), {**_PEOPLE, "b.toml": _CYCLE}),
    ("linked: a cap of 0", _SYNTH, MISTAKE, ("cap",), {**_PEOPLE, "b.toml": _HEAD + _CHILD % b"0"}),
    ("linked: an orphan", _SYNTH, MISTAKE, ("stays",), {**_PEOPLE, "d/stays.csv": b"id,ward\n1,A\n9,B\n"}),
    (
        "linked: an orphan, in parts", f"{_SYNTH}|--engine|local", MISTAKE, ("stays",),
        {**_PEOPLE, "d/stays.csv": b"id,ward\n1,A\n9,B\n"},
    ),
    ("linked: parts as CSV", f"{_SYNTH}|--engine|local|--csv", MISTAKE, ("in parts is Parquet",), _PEOPLE),
    ("linked: one table of several, in parts", f"{_SYNTH}|--engine|local|--table|stays", MISTAKE, ("table",), _PEOPLE),
    (
        "linked: a key twice", _SYNTH, MISTAKE, ("people",),
        {**_PEOPLE, "d/people.csv": b"id,sex\n1,F\n1,M\n", "d/stays.csv": b"id,ward\n1,A\n"},
    ),
)  # fmt: skip
