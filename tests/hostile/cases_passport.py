"""Passports and signatures: `passport`, `sign`, and `verify --key`."""

from hostile_cases import MISTAKE, REFUSED, Case, cases

_OTHER_SHAPES = (
    b'{"format": 2}',
    b'{"format": 2, "files": []}',
    b'{"format": 2, "files": {"../../etc/passwd": ""}, "holds": "soup"}',
)
_BOOK = b'format = 1\n[[columns]]\nname = "a"\nkind = "categorical"\nlevels = ["x"]\n'
_NO_KEY = b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"

PASSPORT_CASES: list[Case] = cases(
    "passport",
    ("missing", "gone", MISTAKE, ("no release folder 'gone'",)),
    ("a table", "@data|-o|.", MISTAKE, ("data.csv",)),
    ("an empty manifest", "f", MISTAKE, ("manifest",), {"f/manifest.json": b"{}"}),
    ("no codebook", "f", MISTAKE, ("no codebook.toml",), {"f/manifest.json": _OTHER_SHAPES[0]}),
    ("an unknown format", "@release|--format|pdf|-o|.", MISTAKE, ("--format is 'pdf'", "croissant")),
    ("no folder", "@release|-o|gone", MISTAKE, ("no folder 'gone'",)),
    ("nothing declared", "@release|--format|dp-registry|-o|.", MISTAKE, ("publisher in [publication]", "intended_use")),
    ("a file in the way", "@release|--format|card|-o|.", MISTAKE, ("README.md", "exists already"), {"README.md": b"x"}),
    ("no publication", "@release|-o|.|--publication|p.toml", MISTAKE, ("p.toml", "[publication]"), {"p.toml": b"a = 1"}),
    (
        "faults in the publication", "@release|-o|.|--publication|p.toml", MISTAKE, ("2 faults", "licence = open", "titel"),
        {"p.toml": b'[publication]\nlicence = "open"\ntitel = "x"'},
    ),
    ("an unanonymous release", "@anonymous|--format|dp-registry|-o|.", MISTAKE, ("does not promise differential privacy",)),
) + [
    Case(f"passport: shape {number}", ("passport", "f"), MISTAKE, ("manifest",), {"f/manifest.json": shape, "f/codebook.toml": _BOOK})
    for number, shape in enumerate(_OTHER_SHAPES)
] + cases(
    "sign",
    ("missing", "gone|--new-key|k", MISTAKE, ("no release folder 'gone'",)),
    ("no key", "@release", MISTAKE, ("--key", "--new-key")),
    ("both keys", "@release|--key|k|--new-key|k", MISTAKE, ("give one of",)),
    ("a missing key", "@release|--key|gone", MISTAKE, ("'gone'", "cannot be read")),
    ("a broken key", "@release|--key|k", MISTAKE, ("'k'", "no private key"), {"k": _NO_KEY}),
    ("a key in the way", "@release|--new-key|k", MISTAKE, ("'k' exists already",), {"k": b"x"}),
    ("a public key in the way", "@release|--new-key|k", MISTAKE, ("'k.pub' exists already",), {"k.pub": b"x"}),
) + cases(
    "verify",
    ("a missing key", "@release|--key|gone", MISTAKE, ("'gone'", "cannot be read")),
    ("a broken key", "@release|--key|k", MISTAKE, ("'k'", "no public key"), {"k": b"\xff"}),
)  # fmt: skip
_SIGNED = b"""-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
-----END PUBLIC KEY-----
"""
"""The public key of the first test of RFC 8032."""
PASSPORT_CASES += [
    Case(
        "verify: no signature", ("verify", "@release", "--key", "k"), REFUSED, ("there is no signature.json",),
        {"k": _SIGNED}, told=True,
    ),
]  # fmt: skip
