"""`mcp`: a data set for agents, over the Model Context Protocol."""

from pathlib import Path
from typing import Annotated

from understudy.cli import options as o
from understudy.cli.shared import number_option, option, whole_option
from understudy.errors import ParameterError

_PRIVACY, _OFFER = "Privacy", "What is offered"


def mcp(
    root: Annotated[
        Path, option("Folder that holds what is offered; the server writes to its folder agents.", "--root")
    ],
    account: Annotated[Path, option("Account of the data set, charged for everything.", panel=_PRIVACY)],
    cap_epsilon: Annotated[
        float | None,
        number_option("What agents may spend of the account, in all and across restarts.", panel=_PRIVACY),
    ] = None,
    cap_delta: Annotated[
        float, number_option("The same for delta; without it only pure prices are paid.", panel=_PRIVACY)
    ] = 0.0,
    allowance: Annotated[
        str, option("Name under which the account counts it; servers of one name share one cap.", panel=_PRIVACY)
    ] = "agents",
    data: Annotated[
        str | None, option("The data set, as [NAME=]PATH below the root, or an address of a table.", panel=_OFFER)
    ] = None,
    codebook: Annotated[
        list[str] | None, option("Public codebook, as [NAME=]PATH; may be repeated.", "--codebook", "-c", panel=_OFFER)
    ] = None,
    release: Annotated[
        list[str] | None, option("Folder of a release, as [NAME=]PATH; may be repeated.", panel=_OFFER)
    ] = None,
    document: Annotated[
        list[str] | None,
        option("Public document that describes the data, as [NAME=]PATH; may be repeated.", panel=_OFFER),
    ] = None,
    public_header: Annotated[
        bool,
        option("The column names of the data are public: agents may then buy drafts.", "--public-header", panel=_OFFER),
    ] = False,
    person: Annotated[
        str | None, option("Priced drafts: the id column, where whole people are protected.", panel=_OFFER)
    ] = None,
    records: Annotated[
        int | None, whole_option("Priced drafts: records of each person that count.", panel=_OFFER)
    ] = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    json: Annotated[  # the words of the command say it to whoever prints errors
        bool, option("Print a refusal at the start as one JSON document; then standard output is the protocol's.")
    ] = False,
) -> None:
    """Serve a data set to agents over standard input and output: what they are told is public or paid for."""
    from understudy.agents.run import serve

    if cap_epsilon is None:
        raise ParameterError("mcp needs `cap_epsilon`: what agents may spend in all; there is no default. Try 1.")
    serve(
        root,
        account=account,
        cap_epsilon=cap_epsilon,
        cap_delta=cap_delta,
        allowance=allowance,
        data=data,
        table=table,
        unknown=unknown,
        codebooks=codebook or (),
        releases=release or (),
        documents=document or (),
        public_header=public_header,
        person=person,
        records=records,
    )
