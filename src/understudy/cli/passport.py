"""`passport` and `sign`: a release for catalogues and registries, and who stands for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli import options as o
from understudy.cli.console import tell, wrote
from understudy.cli.shared import option
from understudy.facade import passports

if TYPE_CHECKING:
    from understudy.release.passport.writing import Passport

Place = Annotated[Path, typer.Argument(metavar="RELEASE", help="Folder of a release, or the file of a risk score.")]


def passport(
    release: Place,
    formats: Annotated[
        list[str] | None,
        option(
            "croissant, frictionless, ddi, dcat-ap, healthdcat-ap, dp-registry or card; may be repeated. "
            "[default: all that apply]",
            "--format",
        ),
    ] = None,
    output: Annotated[
        Path | None, option("Folder that exists. [default: the release, where `verify` knows the files]", "--out", "-o")
    ] = None,
    publication: Annotated[
        Path | None, option("TOML file with a [publication] table. [default: that of the codebook]")
    ] = None,
    json: o.Json = False,
) -> None:
    """Describe a release for catalogues, archives and registries, from its manifest and codebook alone."""
    made = passports.passport(release, formats=formats or (), out=output, publication=publication)
    document = {"folder": made.folder, "files": made.files, "left_out": made.left_out}
    tell(document, _lines(made), json=json)


def _lines(made: "Passport") -> Iterator[str]:
    yield from wrote(made.files.values())
    for name, why in made.left_out.items():
        yield f"no {name}: {why}"


def sign(
    release: Place,
    key: Annotated[Path | None, option("File of your private key.", "--key")] = None,
    new_key: Annotated[
        Path | None, option("Make a pair of keys first: this new file, and FILE.pub for recipients.", "--new-key")
    ] = None,
    json: o.Json = False,
) -> None:
    """Sign a release that verifies; recipients check it with `understudy verify RELEASE --key FILE.pub`."""
    path, name = passports.sign(release, key=key, new_key=new_key)
    public = None if new_key is None else new_key.with_name(f"{new_key.name}.pub")
    lines = [*wrote([*([new_key, public] if new_key is not None and public is not None else []), path])]
    lines.append(f"signed with {name}")
    tell({"signature": path, "key": name, "public_key": public}, lines, json=json)
