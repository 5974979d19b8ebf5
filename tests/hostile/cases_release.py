"""Codebooks, prices, releases: `codebook`, `quote`, `synth`, `draw`, `impute`, `verify`, `account`, `demo`, `audit`."""

from pathlib import Path

from hostile_cases import MISTAKE, REFUSED, Case, cases

_LAPLACE = "@data|-c|@book|-m|laplace|--epsilon|1|-n|20|-o|out|--account|a.account"
_COLUMN = b'format = 1\n\n[[columns]]\nname = "sex"\nkind = "categorical"\n'


def _folder(path: Path) -> None:
    path.mkdir()


def _codebook(name: str, text: bytes, *says: str) -> tuple[str, str, int, tuple[str, ...], dict[str, bytes]]:
    return name, "b.toml", MISTAKE, says, {"b.toml": text}


COUNTS = cases(
    "count",
    ("no file", "gone.csv|-c|@book|--by|sex|--epsilon|1|-o|out", MISTAKE, ("no file", "gone.csv")),
    ("no codebook", "@data|-c|gone.toml|--by|sex|--epsilon|1|-o|out", MISTAKE, ("no codebook", "gone.toml")),
    ("unknown column", "@data|-c|@book|--by|nobody|--epsilon|1|-o|out", MISTAKE, ("'nobody'", "choose among")),
    ("no column", "@data|-c|@book|--by|,|--epsilon|1|-o|out", MISTAKE, ("[]", "name one or more")),
    ("a column twice", "@data|-c|@book|--by|sex,sex|--epsilon|1|-o|out", MISTAKE, ("'sex', 'sex'", "each once")),
    ("free of charge", "@data|-c|@book|--by|sex|--epsilon|0|-o|out", MISTAKE, ("--epsilon is 0.0", "above 0")),
    ("a gain", "@data|-c|@book|--by|sex|--epsilon|-1|-o|out", MISTAKE, ("--epsilon is -1.0", "above 0")),
    ("no number", "@data|-c|@book|--by|sex|--epsilon|nan|-o|out", MISTAKE, ("--epsilon is nan", "finite")),
    ("no price", "@data|-c|@book|--by|sex|-o|out", MISTAKE, ("--epsilon",)),
    ("no weight", "@data|-c|@book|--by|sex|--epsilon|1|--weighted|-o|out", MISTAKE, ("no weight column", "weight =")),
    ("certainty", "@data|-c|@book|--by|sex|--epsilon|1|--confidence|1|-o|out", MISTAKE, ("--confidence is 1.0",)),
    ("no place", "@data|-c|@book|--by|sex|--epsilon|1", MISTAKE, ("--out FOLDER", "--quote")),
    (
        "a place that is taken",
        "@data|-c|@book|--by|sex|--epsilon|1|-o|t",
        MISTAKE,
        ("'t' exists already",),
        {"t": _folder},
    ),
    ("a place nowhere", "@data|-c|@book|--by|sex|--epsilon|1|-o|no/such/t", MISTAKE, ("no/such",)),
    (
        "beyond the cap",
        "@data|-c|@book|--by|sex|--epsilon|50|-o|out|--account|a.account",
        REFUSED,
        ("epsilon 49.99", "fewer rows", "up to epsilon 5"),
    ),
) + cases(
    "example",
    ("no place", "", MISTAKE, ("--out",)),
    ("a place that is taken", "-o|t", MISTAKE, ("'t' exists already", "never overwrites"), {"t": _folder}),
    ("a place nowhere", "-o|no/such", MISTAKE, ("no/such",)),
    ("no rows", "-o|out|-n|0", MISTAKE, ("--rows is 0", "1 or more")),
    ("half a row", "-o|out|-n|2.5", MISTAKE, ("--rows", "whole number")),
)

BOOKS = cases(
    "codebook show",
    ("missing", "gone.toml", MISTAKE, ("no codebook", "gone.toml", "codebook draft")),
    ("a folder", "b.toml", MISTAKE, ("b.toml", "folder"), {"b.toml": _folder}),
    _codebook("not TOML", b"[[columns]\n", "b.toml", "not valid TOML", "line 1"),
    _codebook("not text", b"\xff\xfe\x00", "b.toml", "UTF-8"),
    _codebook("NUL", b"format = 1\x00\n", "b.toml", "not valid TOML"),
    _codebook("empty", b"", "b.toml", "columns", "describe at least one"),
    _codebook("no columns", b"format = 1\n", "columns"),
    _codebook("later format", b"format = 99\n" + _COLUMN[11:] + b'levels = ["F", "M"]\n', "99", "format = 1"),
    _codebook("columns are words", b'format = 1\ncolumns = "sex"\n', "columns"),
    _codebook("unknown kind", _COLUMN.replace(b"categorical", b"colour") + b'levels = ["F"]\n', "'colour'", "categorical"),
    _codebook("unknown key", _COLUMN + b'levels = ["F", "M"]\nlevles = 3\n', "levles", "levels"),
    _codebook("no name", _COLUMN.replace(b'name = "sex"\n', b"") + b'levels = ["F", "M"]\n', "name"),
    _codebook("same column twice", _COLUMN + b'levels = ["F", "M"]\n' + _COLUMN[11:] + b'levels = ["F", "M"]\n', "'sex'"),
    _codebook("same level twice", _COLUMN + b'levels = ["F", "F"]\n', "'F'", "twice"),
    _codebook("no levels", _COLUMN, "levels"),
    _codebook("levels are numbers", _COLUMN + b"levels = [1, 2]\n", "levels", "sex"),
    _codebook("unknown role", _COLUMN + b'levels = ["F", "M"]\nrole = "boss"\n', "'boss'", "quasi-identifier"),
    _codebook("parent unknown", _COLUMN + b'levels = ["F", "M"]\nparents = ["nobody"]\n', "'nobody'"),
    _codebook("own parent", _COLUMN + b'levels = ["F", "M"]\nparents = ["sex"]\n', "'sex'", "parent"),
    _codebook("edges fall", b'format = 1\n[[columns]]\nname = "age"\nkind = "integer"\nedges = [9, 1]\n', "age", "edges"),
    _codebook("edges not numbers", b'format = 1\n[[columns]]\nname = "age"\nkind = "integer"\nedges = ["a", "b"]\n', "age", "edges"),
    _codebook("edges endless", b'format = 1\n[[columns]]\nname = "age"\nkind = "integer"\nedges = [0, inf]\n', "age", "edges"),
) + cases(
    "codebook draft",
    ("output exists", "@data|-o|b.toml", MISTAKE, ("b.toml", "exists already", "another name"), {"b.toml": b"x"}),
    ("output nowhere", "@data|-o|no/such/b.toml", MISTAKE, ("no/such", "make it first")),
    ("output in a file", "@data|-o|f/b.toml", MISTAKE, ("no folder 'f'",), {"f": b"x"}),
    ("half a price", "@data|-o|b.toml|--epsilon|1", MISTAKE, ("--epsilon and --delta", "no default")),
    ("price of nothing", "@data|-o|b.toml|--epsilon|0|--delta|1e-6", MISTAKE, ("epsilon", "0", "above 0")),
    ("odd bins", "@data|-o|b.toml|--epsilon|1|--delta|1e-6|--bins|7", MISTAKE, ("bins", "7", "2, 4, 8, 16 or 32")),
    ("drop unknown", "@data|-o|b.toml|--epsilon|1|--delta|1e-6|--drop|nobody", MISTAKE, ("'nobody'",)),
    ("levels for free", "@data|-o|b.toml|--levels|sex", MISTAKE, ("--levels", "priced draft")),
    ("beyond the cap", "@data|-o|b.toml|--epsilon|50|--delta|1e-6|--account|a.account", REFUSED, ("50", "cap", "5")),
) + cases(
    "codebook declare",
    ("missing", "gone.toml|--by|J|--from|S", MISTAKE, ("gone.toml", "no codebook")),
    ("nobody attests", "@book|--by||--from|S", MISTAKE, ("by", "empty")),
    ("from nowhere", "@book|--by|J|--from|", MISTAKE, ("--from", "empty")),
    ("unknown column", "@book|--by|J|--from|S|--column|nobody", MISTAKE, ("'nobody'",)),
) + cases(
    "codebook check",
    ("codebook missing", "@data|-c|gone.toml", MISTAKE, ("gone.toml", "no codebook")),
    ("codebook is the data", "@data|-c|@data", MISTAKE, ("data.csv", "not valid TOML")),
    ("no codebook given", "@data", MISTAKE, ("--codebook",)),
)  # fmt: skip

_Q = "@data|-c|@book|-n|20"
PRICES = cases(
    "quote",
    ("no rows", "@data|-c|@book|-m|laplace|--epsilon|1", MISTAKE, ("--rows",)),
    ("rows 0", "@data|-c|@book|-m|laplace|--epsilon|1|-n|0", MISTAKE, ("rows", "0", "from 1 to")),
    ("rows negative", "@data|-c|@book|-m|laplace|--epsilon|1|-n|-3", MISTAKE, ("-3", "from 1 to")),
    ("rows in words", "@data|-c|@book|-m|laplace|--epsilon|1|-n|many", MISTAKE, ("'many'", "digits only")),
    ("rows beyond counting", "@data|-c|@book|-m|laplace|--epsilon|1|-n|99999999999999999999", MISTAKE, ("99,999,999,999,999,999,999", "--rows", "from 1 to")),
    ("rows of 5,000 digits", f"@data|-c|@book|-m|laplace|--epsilon|1|-n|{'9' * 5000}", MISTAKE, ("whole number",)),
    ("rows in other digits", "@data|-c|@book|-m|laplace|--epsilon|1|-n|1٢", MISTAKE, ("1٢", "digits")),
    ("epsilon 0", f"{_Q}|-m|laplace|--epsilon|0", MISTAKE, ("epsilon", "0", "above 0")),
    ("epsilon nan", f"{_Q}|-m|laplace|--epsilon|nan", MISTAKE, ("epsilon", "nan")),
    ("epsilon inf", f"{_Q}|-m|laplace|--epsilon|inf", MISTAKE, ("epsilon", "inf", "finite")),
    ("epsilon in words", f"{_Q}|-m|laplace|--epsilon|one", MISTAKE, ("'one'", "above 0")),
    ("epsilon tiny", f"{_Q}|-m|laplace|--epsilon|1e-320", MISTAKE, ("epsilon",)),
    ("epsilon negative", f"{_Q}|-m|laplace|--epsilon|-1", MISTAKE, ("epsilon", "-1", "above 0")),
    ("delta 1", f"{_Q}|-m|sba|--epsilon|1|--delta|1", MISTAKE, ("delta", "above 0 and below 1")),
    ("no delta", f"{_Q}|-m|sba|--epsilon|1", MISTAKE, ("delta", "no default")),
    ("method unknown", f"{_Q}|-m|marginal|--epsilon|1", MISTAKE, ("'marginal'", "Did you mean 'marginals'")),
    ("method of another", f"{_Q}|-m|laplace|--epsilon|1|--l|2", MISTAKE, ("laplace", "does not take --l")),
    ("option unknown", f"{_Q}|-m|laplace|--epsilom|1", MISTAKE, ("--epsilom", "--epsilon")),
    ("codebook missing", "@data|-c|gone.toml|-m|laplace|--epsilon|1|-n|9", MISTAKE, ("gone.toml", "no codebook")),
    ("prior missing", f"{_Q}|-m|pegs|--alpha|1|--prior|gone.csv", MISTAKE, ("gone.csv",)),
    ("parent unknown", f"{_Q}|-m|pegs|--alpha|1|--parents|sex=nobody", MISTAKE, ("'nobody'",)),
    ("workload unknown", f"{_Q}|--epsilon|1|--delta|1e-6|--workload|nobody=2", MISTAKE, ("'nobody'",)),
    ("workload without number", f"{_Q}|--epsilon|1|--delta|1e-6|--workload|sex=lots", MISTAKE, ("lots",)),
    ("neighbours unknown", f"{_Q}|-m|laplace|--epsilon|1|--neighbours|twins", MISTAKE, ("'twins'", "add-remove")),
) + cases(
    "synth",
    ("output exists", _LAPLACE, MISTAKE, ("'out'", "exists already", "another folder"), {"out": _folder}),
    ("output is a file", _LAPLACE, MISTAKE, ("'out'", "exists already"), {"out": b"x"}),
    ("output nowhere", _LAPLACE.replace("|out|", "|no/such/out|"), MISTAKE, ("no/such", "make it first")),
    ("output in a file", _LAPLACE.replace("|out|", "|f/out|"), MISTAKE, ("f'", "does not exist"), {"f": b"x"}),
    ("output with an endless name", _LAPLACE.replace("|out|", f"|{'o' * 300}|"), MISTAKE, ("too long", "shorter")),
    ("output with NUL", _LAPLACE.replace("|out|", "|o\x00ut|"), MISTAKE, ("-o", "null byte")),
    ("output nameless", _LAPLACE.replace("|out|", "||"), MISTAKE, ("'.'", "exists already")),
    ("output in /proc", _LAPLACE.replace("|out|", "|/proc/out|"), MISTAKE, ("/proc", "choose a folder")),
    ("account missing", _LAPLACE.replace("a.account", "gone.account"), MISTAKE, ("gone.account", "account create")),
    ("account is no account", _LAPLACE.replace("a.account", "@book"), MISTAKE, ("book.toml", "account")),
    ("beyond the cap", _LAPLACE.replace("|1|", "|50|"), REFUSED, ("epsilon 49.99", "cap of epsilon 5", "Ask for less")),
    ("neighbours of another account", f"{_LAPLACE}|--neighbours|replace-one", REFUSED, ("replace-one", "add-remove")),
    ("files 0", f"{_LAPLACE}|--files|0", MISTAKE, ("--files", "0")),
    ("files and model", f"{_LAPLACE}|--files|2|--save-model|m.us", MISTAKE, ("--save-model", "--files")),
    ("model exists", f"{_LAPLACE}|--save-model|m.us", MISTAKE, ("'m.us'", "exists already"), {"m.us": b"x"}),
    ("model where the release is", f"{_LAPLACE}|--save-model|out", MISTAKE, ("'out'", "another name")),
    ("model of route S", "@data|-c|@book|-m|pegs|--alpha|1|-n|5|-o|out|--save-model|m.us", MISTAKE, ("pegs", "--save-model")),
    ("unknown wishes", f"{_LAPLACE}|--unknown|guess", MISTAKE, ("'guess'", "missing")),
    ("table of a file", f"{_LAPLACE}|--table|t", MISTAKE, ("--table", "'t'", "leave it out")),
    ("engine unknown", f"{_LAPLACE}|--engine|ray", MISTAKE, ("'ray'", "local")),
    ("workers alone", f"{_LAPLACE}|--workers|2", MISTAKE, ("--workers", "--engine")),
    ("engine and csv", f"{_LAPLACE}|--engine|local|--csv", MISTAKE, ("--csv", "Parquet")),
    ("seed and account", f"{_LAPLACE}|--seed|1", REFUSED, ("seeded", "no budget can cover it")),
    ("seed in words", f"{_LAPLACE}|--seed|now", MISTAKE, ("'now'", "digits")),
    ("glob of nothing", _LAPLACE.replace("@data", "*.nothing"), MISTAKE, ("*.nothing", "no file")),
    ("no arguments", "", MISTAKE, ("Missing argument 'data'",)),
    ("too many arguments", f"{_LAPLACE}|another.csv", MISTAKE, ("another.csv",)),
    ("seeds from nowhere", "@data|-c|@book|-m|pegs|--alpha|1|-n|5|-o|out|--seeds|gone.csv", MISTAKE, ("gone.csv",)),
    ("l of a column unknown", "@data|-c|@book|-m|lugs|--l|nobody=2|-n|5|-o|out", MISTAKE, ("nobody",)),
)  # fmt: skip

_F = "-c|@book|--rows-about|1000|--delta|1e-6"
_WISH = f"{_LAPLACE}|--certify-epsilon|1|--certify"
FORECASTS = cases(
    "forecast",
    ("no codebook given", "--rows-about|1000|--epsilon|1|--delta|1e-6", MISTAKE, ("--codebook",)),
    ("codebook missing", "-c|gone.toml|--rows-about|9|--epsilon|1|--delta|1e-6", MISTAKE, ("gone.toml", "no codebook")),
    ("no size", "-c|@book|--epsilon|1|--delta|1e-6", MISTAKE, ("--rows-about", "Try 10000")),
    ("size 0", "-c|@book|--rows-about|0|--epsilon|1|--delta|1e-6", MISTAKE, ("0", "from 1 to")),
    ("size in words", "-c|@book|--rows-about|many|--epsilon|1|--delta|1e-6", MISTAKE, ("'many'", "digits")),
    ("no epsilon", _F, MISTAKE, ("--epsilon", "no default")),
    ("epsilon and error", f"{_F}|--epsilon|1|--error|0.1", MISTAKE, ("--error", "--epsilon", "leave one of them out")),
    ("error 0", f"{_F}|--error|0", MISTAKE, ("--error", "above 0 and below 1")),
    ("error in words", f"{_F}|--error|small", MISTAKE, ("'small'",)),
    ("error too small", f"{_F}|--error|1e-9", MISTAKE, ("--error", "1e-09", "even epsilon 100")),
    ("table unknown", f"{_F}|--epsilon|1|--for|sex by nobody", MISTAKE, ("--for", "'nobody'", "region")),
    ("table twice", f"{_F}|--epsilon|1|--for|sex by sex", MISTAKE, ("twice",)),
    ("method cannot tell", "-c|@book|--rows-about|9|-m|laplace|--error|0.1", MISTAKE, ("laplace", "--public")),
    ("public missing", f"{_F}|--epsilon|1|--public|gone.csv", MISTAKE, ("gone.csv",)),
    ("public is an anonymised table", f"{_F}|--epsilon|1|--public|@anonymous/anonymized.parquet", MISTAKE, ("stand-in",)),
) + cases(
    "quote",
    ("public without size", f"{_Q}|--epsilon|1|--delta|1e-6|--public|@data", MISTAKE, ("--public", "--rows-about")),
    ("public is the data", f"{_Q}|--epsilon|1|--delta|1e-6|--rows-about|9|--public|@data", MISTAKE, ("confidential table itself",)),
) + cases(
    "synth",
    ("wish of no column", f"{_WISH}|sex x nobody within 0.1", MISTAKE, ("'nobody'", "region")),
    ("wish without tolerance", f"{_WISH}|sex x region", MISTAKE, ("--certify", "within 0.02")),
    ("wish of 0", f"{_WISH}|sex within 0", MISTAKE, ("tolerance", "above 0 and below 1")),
    ("wish beyond 1", f"{_WISH}|sex within 2", MISTAKE, ("tolerance", "above 0 and below 1")),
    ("wish without price", f"{_LAPLACE}|--certify|sex within 0.1", MISTAKE, ("--certify-epsilon", "no default")),
    ("price without wish", f"{_LAPLACE}|--certify-epsilon|1", MISTAKE, ("nothing is to be certified", "--certify")),
    ("wish in a method without promise", "@data|-c|@book|-m|contingency|-n|5|-o|out|--certify|sex within 0.1|--certify-epsilon|1", MISTAKE, ("contingency", "no differential privacy")),
    ("wish at no price to speak of", f"{_WISH.replace('epsilon|1|--certify', 'epsilon|1e-9|--certify')}|sex within 0.1", MISTAKE, ("larger epsilon",)),
    ("wish in parts", f"{_WISH}|sex within 0.1|--engine|local", MISTAKE, ("--certify", "leave the engine out")),
    ("wish of files", f"{_WISH}|sex within 0.1|--files|2", MISTAKE, ("--certify", "one release")),
    ("tries of route S", "@data|-c|@book|-m|pegs|--alpha|9|-n|5|-o|out|--certify|sex within 0.1|--certify-epsilon|1|--certify-tries|5", MISTAKE, ("--certify-tries", "route N")),
)  # fmt: skip

_DRAW = "@model|-n|20|-o|out"
DRAWN = cases(
    "draw",
    ("model missing", "gone.us|-n|5|-o|out", MISTAKE, ("gone.us", "--save-model")),
    ("model is a table", "@data|-n|5|-o|out", MISTAKE, ("data.csv", "not a model", "--save-model")),
    ("model is a codebook", "@book|-n|5|-o|out", MISTAKE, ("book.toml", "not a model")),
    ("model is a folder", "@release|-n|5|-o|out", MISTAKE, ("release", "folder", "--save-model")),
    ("model is a score", "@free|-n|5|-o|out", MISTAKE, ("free.us", "serve")),
    ("model cut", "m.us|-n|5|-o|out", MISTAKE, ("m.us", "copy it again"), {"m.us": lambda path: path.write_bytes(b"PK\x03\x04" + b"\x00" * 40)}),
    ("model empty", "m.us|-n|5|-o|out", MISTAKE, ("m.us", "empty"), {"m.us": b""}),
    ("rows 0", "@model|-n|0|-o|out", MISTAKE, ("rows", "0")),
    ("where without value", f"{_DRAW}|--where|sex", MISTAKE, ("'sex'", "COLUMN=VALUE")),
    ("where of nobody", f"{_DRAW}|--where|nobody=1", MISTAKE, ("'nobody'",)),
    ("where outside", f"{_DRAW}|--where|sex=X", MISTAKE, ("sex = X", "'F'")),
    ("output exists", _DRAW, MISTAKE, ("'out'", "exists already"), {"out": b"x"}),
) + cases(
    "impute",
    ("files 0", "@data|-c|@book|-o|out|--files|0", MISTAKE, ("--files", "0")),
    ("nothing missing", "@data|-c|@book|-o|out", REFUSED, ("missing",)),
    ("engine unknown", "@data|-c|@book|-o|out|--engines|oracle", MISTAKE, ("'oracle'", "cart")),
    ("order of nobody", "@data|-c|@book|-o|out|--order|nobody", MISTAKE, ("nobody",)),
    ("unknown wishes", "@data|-c|@book|-o|out|--unknown|guess", MISTAKE, ("'guess'",)),
    ("output exists", "@data|-c|@book|-o|out", MISTAKE, ("'out'", "exists already"), {"out": b"x"}),
) + cases(
    "verify",
    ("missing", "gone", MISTAKE, ("no release folder 'gone'", "manifest.json")),
    ("a file", "@data", MISTAKE, ("data.csv", "folder")),
    ("an empty folder", "f", MISTAKE, ("'f'", "manifest.json"), {"f": _folder}),
    ("a broken manifest", "f", MISTAKE, ("manifest", "JSON"), {"f/manifest.json": b"{"}),
    ("a manifest of nothing", "f", MISTAKE, ("manifest",), {"f/manifest.json": b"{}"}),
    ("a manifest of wrong types", "f", MISTAKE, ("manifest", "shape"), {"f/manifest.json": b'{"format": 1, "files": []}'}),
    ("a manifest that is a list", "f", MISTAKE, ("manifest",), {"f/manifest.json": b"[]"}),
    ("a manifest in bytes", "f", MISTAKE, ("manifest",), {"f/manifest.json": b"\xff\xfe"}),
    ("a deep manifest", "f", MISTAKE, ("manifest",), {"f/manifest.json": b"[" * 200_000}),
) + cases(
    "audit",
    ("no price", "@data|-c|@book|-n|5|--runs|10", MISTAKE, ("--epsilon", "no default")),
    ("runs 0", "@data|-c|@book|-m|laplace|--epsilon|1|-n|5|--runs|0", MISTAKE, ("runs", "0")),
    ("canary odd", "@data|-c|@book|-m|laplace|--epsilon|1|-n|5|--runs|50|--canary|bird", MISTAKE, ("'bird'", "COLUMN=VALUE")),
    ("canary of nobody", "@data|-c|@book|-m|laplace|--epsilon|1|-n|5|--runs|50|--canary|nobody=1", MISTAKE, ("nobody",)),
    ("canary outside", "@data|-c|@book|-m|laplace|--epsilon|1|-n|5|--runs|50|--canary|sex=X", MISTAKE, ("X",)),
    ("nothing to refute", "@data|-c|@book|-m|gibbs|-n|5|--runs|50", REFUSED, ("gibbs",)),
) + cases(
    "recipe",
    ("missing", "gone", MISTAKE, ("gone", "cannot be read")),
    ("a table", "@data", MISTAKE, ("data.csv", "neither JSON")),
    ("a manifest of nothing", "f", MISTAKE, ("names no method",), {"f/manifest.json": b"{}"}),
    ("a deep manifest", "f", MISTAKE, ("neither JSON",), {"f/manifest.json": b"[" * 200_000}),
    ("of another method", "r.toml", MISTAKE, ("no method 'laplac'", "laplace"), {"r.toml": b'method = "laplac"'}),
    ("rows in words", "r.toml|-o|out", MISTAKE, ("rows", "'many'"), {"r.toml": b'method = "laplace"\nrows = "many"'}),
    ("output exists", "@release|-o|out", MISTAKE, ("'out'", "exists already"), {"out": b"x"}),
) + cases(
    "demo",
    ("no output", "", MISTAKE, ("--out",)),
    ("output exists", "-o|out", MISTAKE, ("'out'", "exists already"), {"out": _folder}),
    ("output nowhere", "-o|no/such/out", MISTAKE, ("no/such", "make it first")),
) + cases(
    "methods",
    ("an argument", "laplace", MISTAKE, ("laplace",)),
    ("an option", "--everything", MISTAKE, ("--everything",)),
) + cases(
    "account create",
    ("exists", "a.account|--dataset|d|--epsilon|1|--delta|0", MISTAKE, ("a.account", "exists")),
    ("nowhere", "no/such/b|--dataset|d|--epsilon|1|--delta|0", MISTAKE, ("no/such",)),
    ("epsilon 0", "b|--dataset|d|--epsilon|0|--delta|0", MISTAKE, ("epsilon", "0")),
    ("epsilon nan", "b|--dataset|d|--epsilon|nan|--delta|0", MISTAKE, ("epsilon", "nan")),
    ("epsilon inf", "b|--dataset|d|--epsilon|inf|--delta|0", MISTAKE, ("epsilon", "inf")),
    ("epsilon in words", "b|--dataset|d|--epsilon|one|--delta|0", MISTAKE, ("'one'",)),
    ("no epsilon", "b|--dataset|d|--delta|0", MISTAKE, ("--epsilon",)),
    ("delta 1", "b|--dataset|d|--epsilon|1|--delta|1", MISTAKE, ("delta", "1")),
    ("nameless", "b|--dataset||--epsilon|1|--delta|0", MISTAKE, ("dataset",)),
    ("neighbours", "b|--dataset|d|--epsilon|1|--delta|0|--neighbours|twins", MISTAKE, ("'twins'", "add-remove")),
    ("composition", "b|--dataset|d|--epsilon|1|--delta|0|--composition|magic", MISTAKE, ("'magic'", "renyi")),
    ("renyi without delta", "b|--dataset|d|--epsilon|1|--delta|0|--composition|renyi", MISTAKE, ("renyi", "delta")),
    ("a folder", "f|--dataset|d|--epsilon|1|--delta|0", MISTAKE, ("/f`", "exists already"), {"f": _folder}),
) + cases(
    "account show",
    ("missing", "gone.account", MISTAKE, ("gone.account", "account create")),
    ("a table", "@data", MISTAKE, ("data.csv", "account")),
    ("empty", "b", MISTAKE, ("/b`", "not an account"), {"b": b""}),
    ("a folder", "f", MISTAKE, ("/f`", "not a file"), {"f": _folder}),
    ("binary", "b", MISTAKE, ("/b`", "not an account"), {"b": bytes(range(256)) * 20}),
) + cases(
    "account history",
    ("missing", "gone.account", MISTAKE, ("gone.account", "account create")),
    ("another file", "@book", MISTAKE, ("book.toml", "account")),
)  # fmt: skip

ESTIMATES = cases(
    "combine",
    ("no rule", "@release|--share|sex=F", MISTAKE, ("--kind",)),
    ("an unknown rule", "@release|--kind|mean|--share|sex=F", MISTAKE, ("--kind is 'mean'", "plug-in")),
    ("no question", "@release|--kind|plug-in", MISTAKE, ("give one of --share", "--mean")),
    ("no file", "gone|--kind|plug-in|--share|sex=F", MISTAKE, ("gone",)),
    ("an empty folder", "f|--kind|plug-in|--share|sex=F", MISTAKE, ("f",), {"f": _folder}),
    ("binary", "b.csv|--kind|plug-in|--share|sex=F", MISTAKE, ("b.csv",), {"b.csv": bytes(range(256))}),
    ("one file for two", "@release|--kind|full|--share|sex=F", MISTAKE, ("1 estimate", "two files")),
    ("no number", "--kind|full|--estimate|one|--variance|1", MISTAKE, ("'one'",)),
    ("a negative variance", "--kind|plug-in|--estimate|1|--variance|-1", MISTAKE, ("variance is negative",)),
    ("endless", "--kind|plug-in|--estimate|inf|--variance|1", MISTAKE, ("finite",)),
) + cases(
    "diagnose",
    ("no file", "gone.csv|-c|@book|--l|1.2", MISTAKE, ("no file", "gone.csv")),
    ("no codebook", "@data|-c|gone.toml|--l|1.2", MISTAKE, ("no codebook", "gone.toml")),
    ("no l", "@data|-c|@book", MISTAKE, ("--l", "no default")),
    ("too little l", "@data|-c|@book|--l|0.5", MISTAKE, ("--l is 0.5", "at least 1")),
    ("no chains", "@data|-c|@book|--l|1.2|--chains|0", MISTAKE, ("--chains is 0", "1 or more")),
    ("fewer sweeps than lags", "@data|-c|@book|--l|1.2|--after|5", MISTAKE, ("--after is 5",)),
) + cases(
    "codebook cells",
    ("missing", "gone.toml|--public-rows|100", MISTAKE, ("no codebook", "gone.toml")),
    ("no rows", "@book|--public-rows|0", MISTAKE, ("--public-rows is 0", "1 or more")),
    ("half a row", "@book|--public-rows|2.5", MISTAKE, ("--public-rows", "whole number")),
    ("unknown parent", "@book|--public-rows|9|--parents|sex=nobody", MISTAKE, ("'nobody'", "choose parents among")),
)  # fmt: skip

RELEASE_CASES: list[Case] = [*COUNTS, *BOOKS, *PRICES, *FORECASTS, *DRAWN, *ESTIMATES]
# the answer of `verify` and of `codebook check` is "no", told on standard output
RELEASE_CASES += [
    Case(
        "verify: a manifest of a format only", ("verify", "f"), REFUSED, ("lists no synthetic.parquet", "cannot be priced"),
        {"f/manifest.json": b'{"format": 1}'}, told=True,
    ),
]  # fmt: skip
