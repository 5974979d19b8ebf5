"""`plan`: what a release on a Spark cluster will take."""

from typing import Annotated

from understudy.cli import options as o
from understudy.cli.console import tell
from understudy.cli.shared import option, whole_option
from understudy.facade import plans


def plan(
    codebook: o.CodebookPath,
    rows: o.RequiredRows,
    engine: Annotated[str, option("Where: spark.")] = "spark",
    workers: Annotated[int, whole_option("Workers of the cluster (Spark's executors).")] = 2,
    cores: Annotated[int, whole_option("Cores of each worker.")] = 1,
    rows_about: Annotated[
        int | None,
        whole_option("About how many records there are, a public guess (default: as many as rows are drawn)."),
    ] = None,
    files: Annotated[
        int | None, whole_option("Parquet files that hold the records (default: one for a million records).")
    ] = None,
    json: o.Json = False,
) -> None:
    """Say what a release by marginals on Spark will take: partitions, bytes, processor time, memory. Reads no data."""
    outlook = plans.plan(
        codebook, rows, engine=engine, workers=workers, cores=cores, rows_about=rows_about, files=files
    )
    tell(outlook, outlook.lines(), json=json)
