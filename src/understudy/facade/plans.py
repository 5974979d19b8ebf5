"""What a large release will take, before machines are rented."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from understudy.errors import ParameterError
from understudy.facade.codebooks import load_codebook
from understudy.facade.documented import documented

if TYPE_CHECKING:
    from understudy.codebook import Codebook
    from understudy.synth.cluster_plan import ClusterPlan


@documented
def plan(
    book: Codebook | str | Path,
    rows: int,
    *,
    engine: str = "spark",
    workers: int = 2,
    cores: int = 1,
    rows_about: int | None = None,
    files: int | None = None,
) -> ClusterPlan:
    """Say what a release by `marginals` on a Spark cluster will take. Reads no data and starts nothing.

    Parameters
    ----------
    engine
        ``spark``.
    workers
        Workers of the cluster (Spark's executors).
    cores
        Cores of each worker.
    rows_about
        About how many records the confidential table has: a public guess. Without it, as many as rows are drawn.
    files
        Parquet files that hold the records; one for a million records, unless told.

    Returns
    -------
    ClusterPlan
        ``.partitions``, ``.shuffled_bytes``, ``.processor_seconds``, ``.heap_mib`` and more; ``.lines()`` in words.

    Examples
    --------
    >>> import understudy as us
    >>> book = us.datasets.discharges_codebook()
    >>> outlook = us.plan(book, 1_000_000_000, workers=16, cores=8)
    >>> outlook.columns, outlook.joint_tables, outlook.parts
    (13, 16, 1000)
    """
    from understudy.synth.cluster_plan import plan_cluster

    if engine != "spark":
        raise ParameterError(
            f"`engine` is {engine!r}; a plan is for spark. On one machine nothing has to be planned: `synth --engine "
            "local` tells the time that is left."
        )
    return plan_cluster(load_codebook(book), rows, workers=workers, cores=cores, records=rows_about, files=files)
