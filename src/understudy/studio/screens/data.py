"""Screen 2, the data: point to them, see how they are read, say who is a person."""

from contextlib import suppress
from glob import glob
from pathlib import Path
from shlex import quote as quote_word
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import CodebookError, ParameterError, UnderstudyError
from understudy.studio import lots, written
from understudy.studio.changes import changing, check_number, number_of
from understudy.studio.forms import FieldError
from understudy.studio.frame import Audience, Equivalent, dataset_of, fragment, go, page, plain_fault, root_of, say
from understudy.studio.guard import form_of
from understudy.studio.looks import find_look, is_looking, start_look
from understudy.studio.plans import export_of
from understudy.studio.stored_books import is_linked, load_book
from understudy.studio.texts import texts
from understudy.studio.workspace import (
    DATABASE_FILES,
    DECLARED,
    FORMAT,
    MOST_CODEBOOK,
    Dataset,
    Root,
    file_of,
    new_dataset,
    toml_text,
    write_private,
)

router = APIRouter()
_PACKED = (".gz", ".bz2", ".xz", ".zst")
"""Endings behind which another one tells the kind of the file."""
READING = ("delimiter", "encoding", "header_row", "skip", "sheet", "member")
"""Reading options that a person may set; the address of the data carries them."""


@router.get("/new")
def new(request: Request) -> Response:
    """Choose a file below the root, a folder of linked ones, or a database."""
    root = root_of(request)
    files = [root.relative(path) for path in root.row_files()]
    folders = sorted({str(Path(name).parent) for name in files if len(Path(name).parts) > 1})
    same = _same_new(files[0] if files else "patients.csv", root)
    linked = [folder for folder in folders if sum(str(Path(file).parent) == folder for file in files) > 1]
    return page(
        request,
        "data",
        audience=Audience.DECISION,
        equivalent=same,
        template="new.html",
        title=texts("data")["new"]["title"],
        files=files,
        linked=linked,
        chosen=request.query_params.get("file", ""),
    )


def _same_new(file: str, root: Root) -> Equivalent:
    """A folder with one file is a data set; then its rows are looked at, and a codebook is drafted."""
    name = _name_from(file)
    declared = (f"{name}/{DECLARED}", toml_text({"format": FORMAT, "data": _from_its_folder(file, root)}))
    path, *writing = written.in_python(declared)
    return Equivalent(
        commands=(f"mkdir -p {name}", f"understudy codebook draft {quote_word(file)} --out {name}/codebook.toml"),
        python=(
            "import understudy as us",
            path,
            f'Path("{name}").mkdir(exist_ok=True)',
            *writing,
            f"us.first_rows({file!r}).rows",
            f'us.draft({file!r}, "{name}/codebook.toml")',
        ),
        files=(declared,),
    )


@router.post("/new")
def make(request: Request) -> Response:
    """Make the folder of a new data set and look at its first rows."""
    root, form = root_of(request), form_of(request)
    words = form["other"] or form["file"]
    _checked(root, words, "other" if form["other"] else "")
    name = form["name"] or _name_from(words)
    data = _from_its_folder(words, root)
    own = new_dataset(root, name, title=form["title"], data=data, table=form["table"])
    start_look(own, "rows")
    return go(f"/d/{own.name}/data")


def _has_match(pattern: str) -> bool:
    return bool(glob(pattern))  # noqa: PTH207 - as the sources match it


def _from_its_folder(words: str, root: Root) -> str:
    """An address as ``dataset.toml`` writes it: files are named from the folder of the data set on.

    Whoever copies a path out of another program gives a whole one, which begins at the top.

    >>> root = Root(Path("/r"))
    >>> _from_its_folder("a/b.csv", root), _from_its_folder("/r/a/b.csv?sheet=2", root)
    ('../a/b.csv', '../a/b.csv?sheet=2')
    >>> _from_its_folder("duckdb:////r/b.duckdb", root), _from_its_folder("spark://host:7077", root)
    ('duckdb:///../b.duckdb', 'spark://host:7077')
    """
    scheme, found, rest = words.partition("://")
    if found and scheme not in DATABASE_FILES:
        return words
    path, question, options = (rest.removeprefix("/") if found else words).partition("?")
    below = root.relative(root.path(path)) if Path(path).is_absolute() else path
    return f"{f'{scheme}:///' if found else ''}../{below}{question}{options}"


def _name_from(words: str) -> str:
    """A folder's name from that of the file: people type it to confirm a release.

    >>> _name_from("visits.csv.gz"), _name_from("a/stays 2024.parquet"), _name_from("lists.zip?sheet=1")
    ('visits', 'stays-2024', 'lists')
    """
    stem = Path(words.partition("?")[0].rstrip("/")).stem or "data"
    if words.partition("?")[0].endswith(_PACKED):
        stem = Path(stem).stem
    name = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in stem).strip("-")[:60]
    return name or "data"


@router.get("/d/{dataset}/data")
def show(request: Request, dataset: str) -> Response:
    """The first rows, how they are read, and who is a person."""
    own = dataset_of(request, dataset)
    has_book = own.codebook.is_file()
    book = load_book(own) if has_book else None
    look = find_look(own, "rows")
    several = [table["name"] for table in (look.seen or {}).get("tables", ())] if not own.table else []
    several_tables = Path(own.data).is_dir() or hasattr(book, "tables") or len(several) > 1
    return page(
        request,
        "data",
        audience=Audience.CONFIDENTIAL,
        equivalent=_same(own),
        dataset=own,
        shown=number_of(own),
        look=look,
        in_database=several if len(several) > 1 and not Path(own.data).is_dir() else [],
        drafting=find_look(own, "draft"),
        has_book=has_book,
        is_linked=several_tables,
        columns=[column.name for column in getattr(book, "written", ())],
        unit=getattr(book, "unit", None),
        numbers=_numbers(book),
        weight=getattr(book, "weight", None),
        tables=getattr(book, "tables", ()),
        options=options_of(own),
        names=READING,
        place=own.root.spelled(own.data),
        on_server=own.is_on_server,
        books=[] if has_book else _books_below(own.root),
        kept_back="" if own.holdout is None else own.root.spelled(own.holdout),
        lot={
            "obstacle": lots.obstacle(own),
            "share": round(100 * lots.SHARE),
            "problem": find_look(own, lots.LOOK).problem,
            "drawn": lots.is_drawn(own),
        },
        files=[own.root.relative(path) for path in own.root.row_files()],
    )


@router.get("/d/{dataset}/data/rows")
def rows(request: Request, dataset: str) -> Response:
    """The part with the rows, asked for again and again while they are read; then the whole screen is loaded anew."""
    own = dataset_of(request, dataset)
    look = find_look(own, "rows")
    answer = fragment(request, "rows.html", "data", dataset=own, look=look)
    if not look.is_running and "hx-request" in request.headers:
        answer.headers["HX-Refresh"] = "true"
    return answer


@router.post("/d/{dataset}/data/look")
def look(request: Request, dataset: str) -> Response:
    """Read the first rows again."""
    own = dataset_of(request, dataset)
    start_look(own, "rows")
    return go(f"/d/{own.name}/data")


@router.post("/d/{dataset}/data/reading")
def reading(request: Request, dataset: str) -> Response:
    """Other reading options: the address of the data carries them, as it does on the command line."""
    own, form = dataset_of(request, dataset), form_of(request)
    lots.refuse_while_drawing(own)
    bare, _, before = str(own.declared.get("data", "")).partition("?")
    options = [(name, value) for name, value in parse_qsl(before) if name not in READING]  # a layout stays
    options += [(name, _spoken(form[name])) for name in READING if form[name]]
    words = urlencode(options, quote_via=quote)
    own = own.declare(data=f"{bare}?{words}" if words else bare, table=form["table"])
    start_look(own, "rows")
    say(request, texts("data")["read_again"])
    return go(f"/d/{own.name}/data")


def _spoken(words: str) -> str:
    return "\t" if words.lower() in ("tab", "\\t") else words


@router.post("/d/{dataset}/data/person")
def person(request: Request, dataset: str) -> Response:
    """Who is a person: a row, or all rows with one value of a column."""
    from understudy.facade.book_edits import set_person

    own, form = dataset_of(request, dataset), form_of(request)
    check_number(own, form)
    words = texts("data")["person"]
    if form["who"] == "column":
        if not form["cap"].isdecimal():
            raise FieldError("cap", words["no_cap"])
        with changing(own):
            set_person(own.codebook, form["column"], int(form["cap"]))
        say(request, words["set"].format(column=form["column"], cap=form["cap"]))
    else:
        with changing(own):
            set_person(own.codebook, None)
        say(request, words["rows_are_people"])
    return go(f"/d/{own.name}/data")


@router.post("/d/{dataset}/data/weight")
def weight(request: Request, dataset: str) -> Response:
    """Which column says how many people of the population a record stands for."""
    from understudy.facade.book_edits import set_weight

    own, form, words = dataset_of(request, dataset), form_of(request), texts("data")["weight"]
    check_number(own, form)
    column = form["weight"] or None
    try:
        with changing(own):
            set_weight(own.codebook, column)
    except CodebookError as reason:  # the codebook was sound before, so what is wrong was chosen here
        raise FieldError("weight", " ".join(reason.faults) or str(reason)) from None
    say(request, words["set"].format(column=column) if column else words["taken_back"])
    return go(f"/d/{own.name}/data")


@router.post("/d/{dataset}/data/caps")
def caps(request: Request, dataset: str) -> Response:
    """How many rows of each parent row take part, table by table."""
    from understudy.facade.book_edits import set_cap

    own, form = dataset_of(request, dataset), form_of(request)
    check_number(own, form)
    book: Any = load_book(own)
    asked = {table.name: form[f"cap-{n}"] for n, table in enumerate(getattr(book, "tables", ())) if table.parent}
    for number, words in enumerate(asked.values(), start=1):
        if not words.isdecimal() or int(words) < 1:
            raise FieldError(f"cap-{number}", texts("data")["person"]["no_cap"])
    with changing(own):
        for name, words in asked.items():
            set_cap(own.codebook, name, int(words))
    say(request, texts("data")["linked"]["saved"])
    return go(f"/d/{own.name}/data")


@router.post("/d/{dataset}/data/holdout")
def holdout(request: Request, dataset: str) -> Response:
    """Records that were kept back before synthesis: reports compare attacks with people outside the data."""
    own, form, words = dataset_of(request, dataset), form_of(request), texts("data")["holdout"]
    lots.refuse_while_drawing(own)
    named = form["holdout"]
    if not named:
        own.declare(holdout="")
        say(request, words["taken_back"])
        return go(f"/d/{own.name}/data")
    address = _checked(own.root, named, "holdout")
    if address == own.data:
        raise FieldError("holdout", words["same"])
    own.declare(holdout=_from_its_folder(named, own.root))
    say(request, words["set"].format(place=named))
    return go(f"/d/{own.name}/data")


@router.post("/d/{dataset}/data/lot")
def lot(request: Request, dataset: str) -> Response:
    """Keep people back by lot; then the rows are looked at again, and every column if somebody had looked."""
    own, form, words = dataset_of(request, dataset), form_of(request), texts("data")["lot"]
    check_number(own, form)
    lots.check(own)
    if not (form["share"].isdecimal() and 1 <= int(form["share"]) <= 50):
        raise FieldError("share", words["no_share"])
    looked = ("columns",) if find_look(own, "columns").seen is not None else ()
    start_look(own, lots.LOOK, "rows", *looked, given={"share": int(form["share"]) / 100})
    say(request, words["begun"])
    return go(f"/d/{own.name}/data#kept-back")


def _checked(root: Root, words: str, field: str) -> str:
    """The address that was typed, if it can be used: files must lie there, servers are asked when they are read."""
    from understudy.facade.peeks import check_address

    try:
        address = root.address(words)
        place = file_of(address)
        if "://" in place:
            check_address(address)
    except UnderstudyError as reason:
        raise FieldError(field, str(reason)) from None
    if not ("://" in place or Path(place).exists() or _has_match(place)):
        raise FieldError(field, texts("data")["new"]["no_file"].format(file=words[:200]))
    return address


@router.post("/d/{dataset}/data/draft")
def draft(request: Request, dataset: str) -> Response:
    """Draft the codebook, then look at every column."""
    own = dataset_of(request, dataset)
    if own.codebook.is_file():
        raise ParameterError(texts("data")["book_there"])
    if own.is_on_server:
        raise ParameterError(texts("data")["book"]["on_server"])
    start_look(own, "draft", "columns")
    return go(f"/d/{own.name}/codebook")


@router.post("/d/{dataset}/data/book")
def take_book(request: Request, dataset: str) -> Response:
    """Take a codebook that lies below the root, or draft one from another file than the data; then look at columns."""
    own, form, words = dataset_of(request, dataset), form_of(request), texts("data")["book"]
    if own.codebook.is_file():
        raise ParameterError(texts("data")["book_there"])
    if not form["book"]:
        raise FieldError("book", words["none"])
    try:
        place = own.root.path(form["book"].partition("?")[0])
    except UnderstudyError as reason:
        raise FieldError("book", str(reason)) from None
    if not place.is_file():
        raise FieldError("book", texts("data")["new"]["no_file"].format(file=form["book"][:200]))
    if is_looking(own):  # nothing is written that the look would not be started for
        raise ParameterError(texts("common")["busy"])
    if place.suffix.lower() == ".toml":
        _copy_book(own, place, form["book"])
        start_look(own, "columns")
    else:
        start_look(own, "draft", "columns", given={"from": form["book"]})
    return go(f"/d/{own.name}/codebook")


def _copy_book(own: Dataset, place: Path, called: str) -> None:
    """The codebook in the folder of the data set, if it is one that can be used there."""
    try:
        if (size := place.stat().st_size) > MOST_CODEBOOK:
            told = texts("workspace")["large_codebook"]
            raise FieldError("book", told.format(name=own.name, size=f"{size:,}", most=f"{MOST_CODEBOOK:,}"))
        write_private(own.path("codebook.toml"), place.read_bytes())
    except OSError as reason:
        told = texts("workspace")["unreadable"]
        raise FieldError("book", told.format(file=called[:200], why=reason.strerror)) from None
    try:
        load_book(own)
    except UnderstudyError as reason:
        own.path("codebook.toml").unlink()
        faults = reason.faults if isinstance(reason, CodebookError) else ()  # without the name of the copy
        raise FieldError("book", " ".join(faults) or plain_fault(reason)) from None


def _books_below(root: Root) -> list[str]:
    """Files that may be codebooks, or from which one can be drafted."""
    named = sorted({root.relative(root.path(name, "codebook.toml")) for name in _folders(root)})
    loose = sorted(place.name for place in root.folder.glob("*.toml") if place.name != "studio.toml")
    return [*loose, *named, *(root.relative(path) for path in root.row_files())]


def _folders(root: Root) -> list[str]:
    found = []
    for own in root.datasets():
        with suppress(UnderstudyError):  # a link to elsewhere costs its own data set only
            if own.path("codebook.toml").is_file():
                found.append(own.name)
    return found


def options_of(own: Dataset) -> dict[str, str]:
    """The reading options that the address carries."""
    options = dict(parse_qsl(str(own.declared.get("data", "")).partition("?")[2]))
    return {name: options.get(name, "") for name in READING}


def _same(own: Dataset) -> Equivalent:
    data, book = own.root.spelled(own.data), own.shown(own.path("codebook.toml"))
    several = Path(own.data).is_dir() or is_linked(own)
    table = f" --table {quote_word(own.table)}" if own.table and not several else ""
    named = f", table={own.table!r}" if own.table and not several else ""
    draft = "draft_tables" if several else "draft"
    drafted, of_drafted, in_drafted = (export_of(own), "", "") if own.is_on_server else (data, table, named)
    known = load_book(own) if own.codebook.is_file() else None
    declared = written.declared_lines(own, holdout=own.declared.get("holdout") or "../HELD-BACK.csv")
    keeping = written.in_python(declared) if lots.obstacle(own) else lots.in_python(own)
    peek = () if several else (f"us.first_rows({data!r}{named}).rows",)
    return Equivalent(
        commands=(
            f"understudy codebook draft {quote_word(drafted)} --out {book}{of_drafted}",
            f"understudy codebook check {quote_word(data)} -c {book}{table}",
        ),
        python=(
            "import understudy as us",
            *peek,
            f'us.{draft}({drafted!r}, "{book}"{in_drafted})',
            f'us.check({data!r}, "{book}"{named}).faults',
            *_edits(known, book),
            *keeping,
        ),
        files=(*_edited_lines(own, known), declared),
    )


def _edits(known: Any, book: str) -> tuple[str, ...]:
    """Who is a person and what a row weighs, as the codebook says it now; words in capitals where it says nothing."""
    if known is None:
        return ()
    if tables := getattr(known, "tables", ()):
        return tuple(f'us.set_cap("{book}", {table.name!r}, {table.cap})' for table in tables if table.parent)
    who = "'PERSON_COLUMN', CAP" if known.unit is None else f"{known.unit.id!r}, {known.unit.cap}"
    weighed = (f'us.set_weight("{book}", {known.weight or "WEIGHT_COLUMN"!r})',) if _numbers(known) else ()
    return (f'us.set_person("{book}", {who})', *weighed)


def _edited_lines(own: Dataset, known: Any) -> tuple[written.Written, ...]:
    """The same as lines of the codebook."""
    if known is None:
        return ()
    if tables := getattr(known, "tables", ()):
        caps = {"tables": {table.name: {"cap": table.cap} for table in tables if table.parent}}
        return (written.lines(own, "codebook.toml", caps),)
    weighed = {"weight": known.weight or "WEIGHT_COLUMN"} if _numbers(known) else {}
    id_, cap = ("PERSON_COLUMN", 0) if known.unit is None else (known.unit.id, known.unit.cap)
    file, text = written.lines(own, "codebook.toml", {**weighed, "unit": {"id": id_, "cap": cap}})
    return ((file, text if known.unit else text.replace("cap = 0", "cap = CAP")),)


def _numbers(book: Any) -> list[str]:
    """Columns that could be weights."""
    return [one.name for one in getattr(book, "columns", ()) if one.kind in ("integer", "continuous")]
