"""With the base dependencies alone: help is quick, what needs no extra works, what needs one says which."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.csv as pv
import pytest

import understudy as us

SRC = str(Path(us.__file__).parents[1])
HEAVY = {
    "cryptography", "dp_accounting", "duckdb", "fastapi", "ibis", "jinja2", "mcp", "numba", "numpy", "opendp", "pandas",
    "patsy", "polars", "psycopg", "pyarrow", "pymysql", "pyreadstat", "pyspark", "python_calamine", "scipy", "sklearn",
    "sqlalchemy", "sqlglot", "sqlite3", "starlette", "statsmodels", "uvicorn", "xlsxwriter",
}  # fmt: skip
EXTRAS = {
    "service": ("fastapi", "uvicorn", "sqlalchemy", "prometheus_client"),
    "postgres": ("psycopg",),
    "mariadb": ("pymysql",),
    "spark": ("pyspark", "py4j"),
    "formats": ("pandas", "polars", "python_calamine", "pyreadstat", "xlsxwriter"),
    "report": ("scipy", "sklearn", "pandas", "patsy", "statsmodels", "jinja2"),
    "models": ("scipy", "sklearn", "pandas"),
    "mcp": ("mcp", "mcp_types"),
}
ALL = sorted({name for names in EXTRAS.values() for name in names} | {"dp_accounting", "markupsafe"})
ANALYSIS = sorted({*EXTRAS["report"], *EXTRAS["models"]})
ENGINES = sorted({*EXTRAS["service"], *EXTRAS["postgres"], *EXTRAS["mariadb"], *EXTRAS["spark"], *EXTRAS["mcp"]})

LOOK = """
import sys
from understudy.cli.start import main
try:
    main()
except SystemExit as stop:
    code = stop.code
names = {name.partition(".")[0] for name in sys.modules}
sys.stderr.write("\\nMODULES " + " ".join(sorted(names)) + f"\\nCODE {code}\\n")
"""

WITHOUT = """
import contextlib, importlib.machinery, importlib.metadata, io, json, sys
hidden = set(sys.argv[1].split(","))
class Finder:
    '''The usual finder, in an environment without the hidden packages: it finds nothing, and says nothing.'''
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            return None
        return importlib.machinery.PathFinder.find_spec(name, path, target)
    find_distributions = importlib.metadata.MetadataPathFinder.find_distributions
sys.meta_path[:] = [Finder if finder is importlib.machinery.PathFinder else finder for finder in sys.meta_path]
from understudy.cli.app import main
answers = []
for words in json.loads(sys.stdin.read()):
    out, err = io.StringIO(), io.StringIO()
    import understudy.cli.console as console
    console.out.file, console.errors_to.file = out, err
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as stop:
            answers.append([stop.code or 0, out.getvalue(), " ".join(err.getvalue().split())])
sys.stdout.write(json.dumps(answers))
"""


def run_without(packages, commands, folder, program=WITHOUT) -> list[tuple[int, str, str]]:
    """Run commands in a process that cannot import some packages."""
    done = subprocess.run(
        [sys.executable, "-c", program, ",".join(packages)],
        input=json.dumps([[str(word) for word in words] for words in commands]),
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=600,
        check=False,
        env={**os.environ, "PYTHONPATH": SRC, "UNDERSTUDY_MODEL_KEY": "cd" * 32, "UNDERSTUDY_TRACEBACK": ""},
    )
    assert done.returncode == 0, done.stderr
    return [tuple(answer) for answer in json.loads(done.stdout)]


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("synth", "--help"), ("serve", "--help"), ("synth",)])
def test_help_loads_nothing_heavy(words):
    """Counted in modules, not in seconds: the clock of a busy machine proves nothing."""
    done = subprocess.run(
        [sys.executable, "-c", LOOK, *words],
        capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "PYTHONPATH": SRC},
    )  # fmt: skip
    modules, code = done.stderr.split("\nMODULES ")[1].split("\nCODE ")
    assert int(code) == (2 if words == ("synth",) else 0)
    assert set(modules.split()) & HEAVY == set()


def test_tab_completion_imports_no_method():
    """Counted in modules, too: the names are read from the files."""
    look = "import sys, understudy as us; names = dir(us); print('PeGS' in names, *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", look],
        capture_output=True, text=True, timeout=60, check=True, env={**os.environ, "PYTHONPATH": SRC},
    )  # fmt: skip
    has_recipes, *modules = done.stdout.split()
    assert has_recipes == "True"
    assert {name for name in modules if name.startswith("understudy.synth")} | set(modules) & HEAVY == set()


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Path:
    from understudy.trees.examples import diabetes_example
    from understudy.trees.model import save_model

    folder = tmp_path_factory.mktemp("base")
    pv.write_csv(us.datasets.discharges(rows=1500, seed=5), folder / "d.csv")
    us.datasets.discharges_codebook().save(folder / "d.toml")
    save_model(diabetes_example(), folder / "free.us")
    (folder / "g.csv").write_text("sex,charge\nF,1\nM,2\n")
    return folder


def test_what_needs_no_extra_works_without_any(bench):
    """Codebook, price, account, synthesis, models, counts and verification, and the demo but for its page."""
    sba = ("-c", "d.toml", "--epsilon", 1, "--delta", 1e-6, "-n", 300)
    commands = [
        ("codebook", "check", "d.csv", "-c", "d.toml"),
        ("codebook", "draft", "d.csv", "-o", "draft.toml"),
        ("methods",),
        ("quote", "d.csv", *sba),
        ("account", "create", "d.account", "--dataset", "d", "--epsilon", 2, "--delta", 1e-5),
        ("synth", "d.csv", *sba, "--account", "d.account", "-o", "r"),
        ("verify", "r"),
        ("synth", "d.csv", *sba, "--save-model", "m.model", "-o", "r2"),
        ("draw", "m.model", "-n", 20, "-o", "r3"),
        ("count", "d.csv", "-c", "d.toml", "--by", "sex", "--epsilon", 1, "-o", "counts"),
        ("account", "show", "d.account"),
        ("anonymize", "risk", "d.csv", "-c", "d.toml", "--quasi", "sex,age.yrs"),
        ("train", "d.csv", "-c", "d.toml", "--target", "cat", "--method", "forest", "--epsilon", 1, "-o", "m.us"),
        ("commute", "example", "-o", "town", "--workers", 200),
        ("demo", "--out", "demo"),
    ]
    answers = run_without(ALL, commands, bench)
    for words, (code, _, err) in zip(commands, answers, strict=True):
        assert code == 0, (words, err)
    said = " ".join(answers[-1][1].split())
    assert "The report page is left out: the page needs jinja2, scipy" in said
    assert 'pip install "understudy[report]"' in said and not (bench / "demo-report.html").exists()


def test_synthesis_loads_nothing_of_what_it_does_not_use(bench):
    """With every package there; Ibis loads pandas and Numba the top of SciPy wherever they are, so these are hidden."""
    words = ("synth", "d.csv", "-c", "d.toml", "--epsilon", 1, "--delta", 1e-6, "-n", 30, "-o", "loaded")
    program = WITHOUT.replace("sys.stdout.write(", "answers.append(sorted(sys.modules))\nsys.stdout.write(")
    (code, _, err), modules = run_without(["pandas", "scipy"], [words], bench, program=program)
    assert code == 0, err
    unused = ("sklearn", "statsmodels", "patsy", "jinja2", "dp_accounting", "fastapi", "polars", "pyspark")
    assert {name for name in modules if name.partition(".")[0] in unused} == set()


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("service", ("serve", "--example")),
        ("service", ("serve", "free.us")),
        ("service", ("keys", "create", "--label", "x")),
        ("service", ("keys", "list")),
        ("service", ("keys", "revoke", "x")),
        ("service", ("keys", "budget")),
        ("mcp", ("mcp", "--root", ".", "--account", "d.account", "--cap-epsilon", "1", "--data", "d.csv")),
        ("service", ("keys", "budget", "--model", "free.us", "--epsilon", "1")),
        *(
            (extra, words)
            for extra, address in (
                ("postgres", "postgresql://127.0.0.1/db?table=t"),
                ("mariadb", "mariadb://127.0.0.1/db?table=t"),
                ("spark", "spark://local?table=t"),
            )
            for words in (
                ("synth", address, "-c", "d.toml", "--epsilon", "1", "--delta", "1e-6", "-n", "9", "-o", "out"),
                ("codebook", "draft", address, "-o", "out"),
                ("codebook", "check", address, "-c", "d.toml"),
                ("impute", address, "-c", "d.toml", "-o", "out"),
                ("audit", address, "-c", "d.toml", "-m", "laplace", "--epsilon", "1", "-n", "5", "--runs", "50"),
                ("evaluate", address, "free.us", "-c", "d.toml", "-o", "out.html"),
                ("rumap", address, "-c", "d.toml", "--epsilons", "1", "--delta", "1e-6", "-n", "9", "-o", "out"),
                ("anonymize", "run", address, "-c", "d.toml", "--k", "2", "--suppression", "0.1", "-o", "out"),
                ("anonymize", "risk", address, "-c", "d.toml"),
                ("reconstruct", address, "-a", "g.csv:sex:charge", "-o", "out"),
                ("reconstruct", "risk", address, "-c", "d.toml", "--group", "sex", "--value", "charge"),
                ("commute", "synth", address, "--epsilon", "1", "--delta", "0.1", "--certificate", "exact", "-o", "o"),
                ("train", address, "-c", "d.toml", "--target", "cat", "--method", "tree", "--epsilon", "1", "-o", "o"),
            )
        ),
        ("spark", ("synth", "d.csv", "-c", "d.toml", "--epsilon", "1", "--delta", "1e-6", "-n", "9", "-o", "out",
                   "--engine", "spark")),
        ("report", ("evaluate", "d.csv", "d.csv", "-c", "d.toml", "-o", "out")),
        ("report", ("rumap", "d.csv", "-c", "d.toml", "--epsilons", "1", "--delta", "1e-6", "-n", "9", "-o", "out")),
        ("report", ("audit", "d.csv", "-c", "d.toml", "-m", "laplace", "--epsilon", "1", "-n", "5", "--runs", "50")),
        ("report", ("anonymize", "report", "d.csv", "r", "-c", "d.toml", "-o", "out")),
        ("report", ("commute", "map", "town", "-o", "out")),
        ("models", ("reconstruct", "d.csv", "-a", "g.csv:sex:charge", "-o", "out")),
        ("models", ("reconstruct", "risk", "d.csv", "-c", "d.toml", "--group", "sex", "--value", "charge")),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value)[:60],
)  # fmt: skip
def test_what_needs_an_extra_says_which(hints, bench, extra, words):
    code, out, err = hints[extra, words]
    assert code == 1 and out in ("", "warning")
    assert f'pip install "understudy[{extra}]"' in err and "Traceback" not in err and err.count("error:") == 1
    assert not (bench / "out").exists() and not (bench / "o").exists()


@pytest.fixture(scope="module")
def hints(request, bench):
    """All answers from two processes: starting one for each command would take a minute."""
    marks = [mark for mark in test_what_needs_an_extra_says_which.pytestmark if mark.name == "parametrize"]
    asked = marks[0].args[1]
    answers = {}
    for hidden, extras in (
        (ENGINES, {"service", "postgres", "mariadb", "spark", "mcp"}),
        (ANALYSIS, {"report", "models"}),
    ):
        these = [key for key in asked if key[0] in extras]
        answers |= zip(these, run_without(hidden, [words for _, words in these], bench), strict=True)
    return answers


def test_a_frame_of_polars_needs_polars(bench):
    program = (
        "import sys; sys.modules['polars'] = None\n"
        "from types import SimpleNamespace\nimport pyarrow as pa, understudy as us\n"
        "from understudy.privacy.provenance import DECLARED\n"
        "from understudy.errors import MissingExtraError\n"
        "from understudy.release import Release\n"
        "try:\n    Release(table=pa.table({'a': [1]}), manifest=SimpleNamespace(provenance=DECLARED)).to_polars()\n"
        "except MissingExtraError as reason:\n    print(reason)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "PYTHONPATH": SRC},
    )  # fmt: skip
    assert 'pip install "understudy[formats]"' in done.stdout, done.stderr
