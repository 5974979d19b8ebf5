"""What may be wrong with codes of packs and with the split of one epsilon."""

from hostile_cases import MISTAKE, Case, cases

_COLUMN = b'[[columns]]\nname = "region"\nkind = "%s"\n'
_SEX = b'[[columns]]\nname = "sex"\nkind = "categorical"\nlevels = ["F", "M"]\n'


def _book(kind: bytes, more: bytes = b"") -> bytes:
    return b"format = 1\n" + _SEX + _COLUMN % kind + more


_OWN = b'\n[[packs]]\nname = "ours"\nfile = "ours.csv"\n'
_SYNTH = "-c|new.toml|-n|10|-o|out|--epsilon|1|--delta|1e-6"

CODE_CASES: list[Case] = [
    *cases(
        "codebook draft",
        ("an unknown pack", "@data|-o|new.toml|--kind|region=idc9", MISTAKE, ("'idc9'", "did you mean 'icd9'")),
        ("a kind without a column", "@data|-o|new.toml|--kind|icd9", MISTAKE, ("COLUMN=PACK", "diag_1=icd9")),
        ("a kind of no column", "@data|-o|new.toml|--kind|nose=icd9", MISTAKE, ("'nose'", "the table has")),
        ("codes in words", "@data|-o|new.toml|--kind|region=icd9", MISTAKE, ("'region'", "0%", "take the kind away")),
        ("codes in amounts", "@data|-o|new.toml|--kind|charge=ms_drg", MISTAKE, ("'charge'", "'ms_drg'")),
        ("a kind twice", "@data|-o|new.toml|--kind|region=icd9|--kind|region=sic", MISTAKE, ("once for each column",)),
        ("a pack that is not there", "@data|-o|new.toml|--kind|region=gone.csv", MISTAKE, ("'gone.csv'", "cannot be read")),
        (
            "two parents for a code", "@data|-o|new.toml|--kind|region=ours.csv", MISTAKE,
            ("'1' two parents, 'a' and 'b'", "Keep one"), {"ours.csv": b"code,group\n1,a\n1,b\n"},
        ),
        (
            "a pack without codes", "@data|-o|new.toml|--kind|region=ours.csv", MISTAKE, ("it has no codes",),
            {"ours.csv": b"code,group\n"},
        ),
        (
            "a pack of bytes", "@data|-o|new.toml|--kind|region=ours.csv", MISTAKE, ("ours.csv", "not UTF-8"),
            {"ours.csv": b"code,group\n\xff\xfe,a\n"},
        ),
        (
            "a kind at a price", "@data|-o|new.toml|--kind|region=icd9|--epsilon|1|--delta|1e-6", MISTAKE,
            ("--kind", 'kind = "icd9"'),
        ),
    ),
    *cases(
        "synth @data",
        ("an unknown kind", _SYNTH, MISTAKE, ("'icd11'", "icd9"), {"new.toml": _book(b"icd11")}),
        ("a pack without its file", _SYNTH, MISTAKE, ("ours.csv", "cannot be read"), {"new.toml": _book(b"ours", _OWN)}),
        (
            "levels beside a pack", _SYNTH, MISTAKE, ("unknown keys levels",),
            {"new.toml": _book(b"icd9", b'levels = ["a"]\n')},
        ),
        (
            "another edition", _SYNTH, MISTAKE, ("edition", "take the version"),
            {"new.toml": _book(b"icd9", b'edition = "sha256:1"\n')},
        ),
        (
            "shares above one", f"{_SYNTH}|--split|details=0.7|--split|people=0.4", MISTAKE, ("adds up to 1.1", "below 1"),
            {"new.toml": _book(b"icd9")},
        ),
        ("a share of 1", f"{_SYNTH}|--split|details=1", MISTAKE, ("split",), {"new.toml": _book(b"icd9")}),
        ("an unknown part", f"{_SYNTH}|--split|nose=0.3", MISTAKE, ("'nose'", "parts are"), {"new.toml": _book(b"icd9")}),
        (
            "a share nobody asks for", f"{_SYNTH}|--split|people=0.3", MISTAKE, ("nothing asks for it",),
            {"new.toml": _book(b"icd9")},
        ),
        (
            "a share and an epsilon", f"{_SYNTH}|--split|details=0.3|--detail-epsilon|1", MISTAKE, ("give one of them",),
            {"new.toml": _book(b"icd9")},
        ),
    ),
]  # fmt: skip
