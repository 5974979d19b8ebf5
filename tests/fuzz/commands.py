"""The same damaged files given to whole commands: whatever happens, it is no mistake of ours (exit code 70)."""

import contextlib
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from understudy.cli.app import main

from .mutations import mixed, of_bytes, of_json, of_lines, of_zip
from .targets import Target


class Ours(Exception):
    """A command said that understudy made a mistake."""


def call(folder: Path, *words: str) -> None:
    """Run one command in ``folder``, and throw away what it made there."""
    heard, before = io.StringIO(), Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
            main([*words, "--json"])
    except SystemExit as stop:
        if stop.code not in (0, 1, 2, None):
            raise Ours(f"exit code {stop.code}: {' '.join(heard.getvalue().split())[:300]}") from None
    finally:
        os.chdir(before)
        made = folder / "made"
        shutil.rmtree(made) if made.is_dir() else made.unlink(missing_ok=True)


def commands(place: Path) -> list[Target]:
    """Commands that read each kind of file, on the files that ``prepare`` wrote."""
    release, book, data = place / "release", str(place / "book.toml"), str(place / "data.parquet")

    def words(*given: str) -> Callable[[Path], Any]:
        return lambda path: call(path if path.is_dir() else path.parent, *(str(path) if w == "@" else w for w in given))

    def in_release(*given: str) -> Callable[[Path], Any]:
        def load(folder: Path) -> None:
            for other in release.iterdir():
                if not (folder / other.name).exists() and other.name not in ("notice.json", "signature.json"):
                    shutil.copy(other, folder / other.name)
            call(folder, *(str(folder) + word[1:] if word[:1] == "@" else word for word in given))

        return load

    manifest, table = (release / "manifest.json").read_bytes(), (release / "synthetic.parquet").read_bytes()
    text, model = (place / "book.toml").read_bytes(), (place / "model.us").read_bytes()
    how = ("-m", "laplace", "--epsilon", "1", "-n", "5", "-o", "made")
    toml, json = mixed(of_lines), mixed(of_json)
    recipe = b'method = "laplace"\nepsilon = 1.0\nrows = 5\n'

    def target(name: str, content: bytes, mutate: Any, load: Callable[[Path], Any], file: str) -> Target:
        return Target(f"command {name}", content, mutate, load, 1, file, named=False)

    return [
        target("codebook show", text, toml, words("codebook", "show", "@"), "fuzzed.toml"),
        target("codebook check", text, toml, words("codebook", "check", "@", data), "fuzzed.toml"),
        target(
            "codebook declare", text, toml,
            words("codebook", "declare", "@", "--all", "--by", "A", "--source", "B"), "fuzzed.toml",
        ),
        target("quote", text, toml, words("quote", "-c", "@", *how[:6]), "fuzzed.toml"),
        target("synth by book", text, toml, words("synth", data, "-c", "@", *how), "fuzzed.toml"),
        target("synth by table", (place / "data.parquet").read_bytes(), of_bytes, words("synth", "@", "-c", book, *how),
               "fuzzed.parquet"),
        target("synth by CSV", (place / "data.csv").read_bytes(), toml, words("synth", "@", "-c", book, *how),
               "fuzzed.csv"),
        target("synth by recipe", recipe, toml, words("synth", data, "-c", book, "--recipe", "@", "-o", "made"),
               "fuzzed.toml"),
        target("codebook draft", (place / "data.csv").read_bytes(), mixed(of_lines),
               words("codebook", "draft", "@", "-o", "made"), "fuzzed.csv"),
        target("draw", model, mixed(of_zip), words("draw", "@", "-n", "3", "-o", "made"), "fuzzed.us"),
        target("account show", (place / "a.account").read_bytes(), of_bytes, words("account", "show", "@"),
               "f.account"),
        target("verify manifest", manifest, json, in_release("verify", "@"), "verify/manifest.json"),
        target("verify table", table, of_bytes, in_release("verify", "@"), "tables/synthetic.parquet"),
        target("verify codebook", (release / "codebook.toml").read_bytes(), toml, in_release("verify", "@"),
               "books/codebook.toml"),
        target("recipe", manifest, json, in_release("recipe", "@"), "recipe/manifest.json"),
        target("passport", manifest, json, in_release("passport", "@", "--out", "."), "passport/manifest.json"),
        target("evaluate", table, of_bytes, in_release("evaluate", data, "@", "-c", book), "looked/synthetic.parquet"),
        target("evaluate beside a manifest", manifest, json,
               in_release("evaluate", data, "@/synthetic.parquet", "-c", book, "--risk", "none", "-o", "made"),
               "beside/manifest.json"),
        target("keys list", (place / "service.db").read_bytes(), of_bytes, _keys(place / "service.db.secret"),
               "fuzzed.db"),
    ]  # fmt: skip


def _keys(secret: Path) -> Callable[[Path], Any]:
    def load(path: Path) -> None:
        shutil.copy(secret, path.with_name("fuzzed.db.secret"))
        for log in ("-wal", "-shm"):  # of an earlier case
            path.with_name(path.name + log).unlink(missing_ok=True)
        call(path.parent, "keys", "list", "--database", f"sqlite:///{path}")

    return load
