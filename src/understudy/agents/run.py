"""Starting: everything that is offered is checked before anything is served.

What is wrong with rows, releases or codebooks may quote them, and standard error belongs to the client that started the
server. So such words go to the holder's log, and standard error says which file and where to look.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from understudy.agents.desk import Desk
from understudy.agents.log import NAME as LOG
from understudy.agents.log import HolderLog
from understudy.agents.offers import ANSWERS, CODEBOOKS, FOLDER, HOLDER, Book, Offered, Offers, named, named_data
from understudy.agents.phases import paced
from understudy.errors import MissingExtraError, ParameterError, RefusalError, StoppedError, UnderstudyError
from understudy.extras import need
from understudy.facade import agents as about
from understudy.files import make_folder
from understudy.parameters import OneOf

_UNKNOWN = OneOf(("error", "missing", "other", "other-or-missing", "clamp"))


def open_desk(
    root: Path | str,
    *,
    account: Path | str,
    cap_epsilon: float,
    cap_delta: float = 0.0,
    allowance: str = "agents",
    data: str | None = None,
    table: str | None = None,
    unknown: str = "error",
    codebooks: Sequence[str] = (),
    releases: Sequence[str] = (),
    documents: Sequence[str] = (),
    public_header: bool = False,
    person: str | None = None,
    records: int | None = None,
) -> Desk:
    """Everything that is offered, checked. ``person`` and ``records`` are for priced drafts."""
    _UNKNOWN.check("unknown", unknown)
    if (person is None) != (records is None):
        raise ParameterError("`person` and `records` go together: the id column, and how many records of each count.")
    if public_header and data is None:
        raise ParameterError("`public_header` is about the header of the data; name them with `data`.")
    home = Path(root)
    if not home.is_dir():
        raise ParameterError(f"`root` is {str(root)[:200]!r}, which is no folder; make it first.")
    home = home.resolve()
    if not (data or codebooks or releases or documents):
        raise ParameterError("nothing is offered; name `data`, `codebook`, `release` or `document`.")
    opened = about.allowed_account(home / account, name=allowance, epsilon=cap_epsilon, delta=cap_delta)
    offered = None if data is None else Offered.sealed(*_there(*named_data(data, home)))
    described = {name: _there(name, path)[1] for name, path in named(codebooks, "codebook", home).items()}
    shelves = _sealed(releases, "release", home)
    papers = _sealed(documents, "document", home)
    folder, log = _folders(home)  # not before: a slip on the command line leaves nothing behind
    header, provenance = None, None
    books, promises = {}, {}
    with paced():  # a client can time a start as it times an answer
        if offered is not None:
            with _for_the_holder("the data", log):
                provenance = about.provenance_of(offered.path)
                names = about.header_of(offered.path, table=table)
                header = names if public_header else None
        for name, path in described.items():
            with _for_the_holder(f"the codebook {name!r}", log):
                book = about.public_codebook(path)
                if offered is not None:
                    about.check_rows(offered.path, book, unknown=unknown, table=table)
            books[name] = Book(name=name, codebook=book, origin="holder", unknown=None if offered is None else unknown)
    books |= _earlier(folder / CODEBOOKS, books, opened, log, has_data=offered is not None)
    for name, release in shelves.items():
        with _for_the_holder(f"the release {name!r}", log):
            about.verified_release(release.path)
            promises[name] = about.promise_of(release.path)
    log.say("started", allowance=allowance, cap_epsilon=cap_epsilon, cap_delta=cap_delta)
    return Desk(
        folder=folder,
        offers=Offers(
            data=offered,
            table=table,
            header=header,
            provenance=provenance,
            books=books,
            releases=shelves,
            promises=promises,
            documents=papers,
        ),
        account=opened,
        log=log,
        person=person,
        records=records,
    )


def serve(root: Path | str, **offering: Any) -> None:
    """Check what is offered and serve it; see :func:`open_desk`."""
    need("mcp", extra="mcp", what="the server for agents")
    from understudy.agents import server

    server.serve(open_desk(root, **offering))


def _folders(root: Path) -> tuple[Path, HolderLog]:
    folder = root / FOLDER
    try:
        for place in (folder, folder / CODEBOOKS, folder / ANSWERS, folder / HOLDER):
            make_folder(place, exist_ok=True)
    except OSError as reason:
        raise ParameterError(
            f"`root` is {str(root)[:200]!r}, where the folder {FOLDER!r} cannot be made ({reason.strerror}); give a "
            "folder that this user may write to."
        ) from None
    return folder, HolderLog(path=folder / HOLDER / LOG)


def _sealed(words: Sequence[str], option: str, root: Path) -> dict[str, Offered]:
    return {name: Offered.sealed(*_there(name, path)) for name, path in named(words, option, root).items()}


def _there(name: str, path: Path | str) -> tuple[str, Path | str]:
    if isinstance(path, Path) and not path.exists():
        raise ParameterError(f"there is no file or folder {str(path)!r} to offer as {name!r}; check the path.")
    return name, path


def _earlier(
    folder: Path, taken: Mapping[str, Book], account: Any, log: HolderLog, *, has_data: bool
) -> dict[str, Book]:
    """What agents drafted before; one that was altered since is left out."""
    books = {}
    for path in sorted(folder.glob("*.toml")):
        if path.stem in taken:
            raise ParameterError(
                f"`codebook` names {path.stem!r}, and agents drafted a codebook of that name; write NAME=PATH with "
                "another name."
            )
        try:
            book = about.public_codebook(path)
            paid = has_data and about.is_bought(account, book)
        except UnderstudyError as reason:
            log.failed(f"read the draft {path.stem}", reason)
            continue
        books[path.stem] = Book(
            name=path.stem,
            codebook=book,
            origin="document" if book.paid is None else "paid",
            unknown=about.PAID_UNKNOWN if paid else None,
        )
    return books


@contextmanager
def _for_the_holder(what: str, log: HolderLog) -> Iterator[None]:
    """Words about what was read go to the log; which file it was, the holder may be told on the screen."""
    try:
        yield
    except (MissingExtraError, StoppedError):
        raise
    except Exception as reason:
        reference = log.failed(f"check {what}", reason)
        raise RefusalError(
            f"{what} cannot be offered. The reason may quote confidential values, so it is under {reference} in "
            f"{FOLDER}/{HOLDER}/{LOG} below the root."
        ) from None
