"""One function per use case: what a Python user calls as ``us.synthesize`` and so on, and all that the commands call.

Data may be the path of a CSV or Parquet file, a glob of them, an address (``duckdb:///FILE?table=T``,
``sqlite:///FILE?table=T``, ``postgresql://USER@HOST/DB?table=T``, ``mariadb://USER@HOST/DB?table=T``,
``spark://HOST:PORT?table=T``), or a pandas, Polars, Arrow or Spark table. A codebook may be a
:class:`~understudy.codebook.Codebook` or the path of its file; an account its object or its file. Without ``out``
nothing is written. ``report`` is called as ``report(step, done, total)`` while long work goes on.

One module per family of use cases. Everything heavy is imported where it is used, so that `import understudy` and
`understudy --help` come at once.
"""
