"""What may be wrong with a table: the same files before every command that reads one."""

import gzip
from pathlib import Path

from hostile_cases import MISTAKE, REFUSED, Case

GOOD_HEADER = b"sex,age,region,charge,readmitted\n"
GOOD_ROW = b"F,30,north,120.5,no\n"


def _parquet(cut: int, columns: dict[str, list[object]] | None = None):
    def write(path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(columns or {"sex": ["F"] * 500, "age": [30] * 500}), path)
        if cut:
            path.write_bytes(path.read_bytes()[:-cut])

    return write


def _folder(path: Path) -> None:
    path.mkdir()


def _closed(path: Path) -> None:
    path.symlink_to(path)  # a link to itself: root too cannot open it


_MANY = b"".join(b"F,%d,north,1.5,no\n" % (row % 90) for row in range(3000))

TABLES: dict[str, tuple[str, object, tuple[str, ...]]] = {
    "missing": ("gone.csv", None, ("gone.csv", "no file", "check the path")),
    "a folder": ("t.csv", _folder, ("t.csv", "is a folder", "give a file")),
    "a link to itself": ("t.csv", _closed, ("t.csv",)),
    "of another kind": ("t.xlsx", b"PK\x03\x04", ("t.xlsx", ".csv")),
    "without extension": ("table", GOOD_HEADER + GOOD_ROW, ("'table'", ".csv")),
    "empty": ("t.csv", b"", ("t.csv", "is empty", "header")),
    "blank": ("t.csv", b"\n\n\n", ("t.csv", "empty first line")),
    "header only": ("t.csv", GOOD_HEADER, ("t.csv", "no rows")),
    "duplicate header": ("t.csv", GOOD_HEADER.replace(b"region", b"sex") + GOOD_ROW, ("'sex'", "rename")),
    "header twice by case": ("t.csv", GOOD_HEADER.replace(b"region", b"SEX") + GOOD_ROW, ("'SEX'", "rename")),
    "one column": ("t.csv", b"sex\nF\nM\n", ("lacks the columns", "'age'")),
    "of another study": ("t.csv", b"a,b\n1,2\n", ("lacks the columns", "codebook of another file")),
    "latin-1": ("t.csv", GOOD_HEADER + GOOD_ROW * 2 + b"F,30,n\xf6rd,1,no\n", ("t.csv", "UTF-8", "line 4")),
    "utf-16": ("t.csv", (GOOD_HEADER + GOOD_ROW).decode().encode("utf-16"), ("t.csv", "UTF-8")),
    "NUL in a value": ("t.csv", GOOD_HEADER + b"F,30,no\x00rth,1,no\n", ("'region'", "--unknown missing")),
    "ragged, short": ("t.csv", GOOD_HEADER + GOOD_ROW + b"F,30\n", ("t.csv", "Line: 3", "Mend that line")),
    "ragged, long": ("t.csv", GOOD_HEADER + GOOD_ROW + b"F,30,north,1,no,9,9\n", ("t.csv", "Line: 3")),
    "open quote": ("t.csv", GOOD_HEADER + GOOD_ROW + b'"F,30,north,1,no\n', ("t.csv", "Line: 3")),
    "mixed line ends": ("t.csv", GOOD_HEADER.replace(b"\n", b"\r\n") + GOOD_ROW + GOOD_ROW, ("t.csv", "end alike")),
    "level unknown": ("t.csv", GOOD_HEADER + b"X,30,north,1,no\n", ("'sex'", "does not know", "--unknown missing")),
    "number as words": ("t.csv", GOOD_HEADER + b"F,thirty,north,1,no\n", ("'age'", "does not know")),
    "number out of bounds": ("t.csv", GOOD_HEADER + b"F,999,north,1,no\n", ("'age'", "does not know")),
    "number that is none": ("t.csv", GOOD_HEADER + b"F,30,north,nan,no\n", ("'charge'", "does not know")),
    "endless number": ("t.csv", GOOD_HEADER + b"F,30,north,1e999,no\n", ("'charge'", "does not know")),
    "decimal comma": ("t.csv", GOOD_HEADER + b'F,30,north,"1,5",no\n', ("'charge'", "does not know")),
    "huge field": ("t.csv", GOOD_HEADER + b"F,30," + b"x" * 3_000_000 + b",1,no\n", ("t.csv",)),
    "missing values": ("t.csv", GOOD_HEADER + b",30,north,1,no\n", ("'sex'", "does not know")),
    "cut Parquet": ("t.parquet", _parquet(60), ("t.parquet", "truncated or is not Parquet")),
    "CSV called Parquet": ("t.parquet", GOOD_HEADER + GOOD_ROW, ("t.parquet", "not Parquet")),
    "Parquet of lists": (
        "t.parquet",
        _parquet(0, {"sex": ["F"], "age": [[30]], "region": ["north"], "charge": [1.0], "readmitted": ["no"]}),
        ("age",),
    ),
    "half a gzip": ("t.csv.gz", gzip.compress(GOOD_HEADER + _MANY)[:-60], ("t.csv.gz", "cut short or damaged")),
    "not gzip": ("t.csv.gz", GOOD_HEADER + GOOD_ROW, ("t.csv.gz", "gzip")),
    "no DuckDB": ("duckdb:///gone.duckdb?table=t", None, ("gone.duckdb",)),
    "text called DuckDB": ("t.duckdb", b"not a database", ("t.duckdb",)),
    "bucket": ("s3://bucket/t.csv", None, ("'s3'", "duckdb:///")),
    "password": ("postgresql://ann:hunter2@db/claims?table=t", None, ("password", "PGPASSWORD")),
    "no host": ("postgresql://127.0.0.1:1/claims?table=t&connect_timeout=2", None, ("claims",)),
    "odd option": ("postgresql://127.0.0.1/claims?table=t&colour=red", None, ("'colour'",)),
    "no table": ("postgresql://127.0.0.1/claims", None, ("names no table", "?table=")),
}
"""name: (address, contents of the file, words that the sentence holds)."""

_SYNTH = "synth {} -c @book -m laplace --epsilon 1 -n 20 -o out --account a.account"
READERS: dict[str, str] = {
    "synth": _SYNTH,
    "codebook draft": "codebook draft {} -o out",
    "codebook check": "codebook check {} -c @book",
    "train": "train {} -c @book --target readmitted --method forest --epsilon 1 -o out --account a.account",
    "anonymize run": "anonymize run {} -c @book --k 2 --suppression 0.1 -o out",
    "anonymize risk": "anonymize risk {} -c @book",
    "anonymize weigh": "anonymize weigh {} -c @book --k 2",
    "evaluate": "evaluate {} @release -c @book -o out.html",
    "evaluate synthetic": "evaluate @data {} -c @book -o out.html",
    "impute": "impute {} -c @book -o out --files 1",
    "audit": "audit {} -c @book -m laplace --epsilon 1 -n 5 --runs 50",
    "rumap": "rumap {} -c @book --epsilons 1 -n 20 --repeat 1 --methods laplace -o out",
    "reconstruct risk": "reconstruct risk {} -c @book --group region --value charge --known age",
    "priced draft": "codebook draft {} -o out --epsilon 1 --delta 1e-6 --account a.account",
    "reconstruct": "reconstruct {} -a @counties:county:charge -o out",
    "commute quote": "commute quote {} --epsilon 4 --delta 1e-6 --certificate exact --places @places",
    "commute synth": "commute synth {} --epsilon 4 --delta 1e-6 --certificate exact --places @places -o out",
    "commute evaluate": "commute evaluate {} @trips",
}

EVERYWHERE = ("missing", "empty", "latin-1", "cut Parquet", "bucket", "password")
"""Faults that are tried before every reader; the others before `synth`, which reads as all do."""
_OWN_COLUMNS = {"priced draft", "codebook draft", "reconstruct", "commute quote", "commute synth", "commute evaluate"}


def _case(reader: str, fault: str) -> Case:
    address, content, says = TABLES[fault]
    words = tuple(word.format(address) if "{}" in word else word for word in READERS[reader].split())
    files = {} if content is None else {address: content}
    if reader == "codebook check" and content is not None:  # its answer, not a mistake: the list of faults
        says = {"empty": ("is empty",), "latin-1": ("UTF-8", "line 4"), "cut Parquet": ("truncated",)}[fault]
        return Case(f"{reader}: table {fault}", words, REFUSED, says, files, told=True)
    return Case(f"{reader}: table {fault}", words, MISTAKE, says, files)


TABLE_CASES = [_case("synth", fault) for fault in TABLES] + [
    _case(reader, fault)
    for reader in READERS
    if reader != "synth"
    for fault in EVERYWHERE
    if (reader, fault) != ("codebook draft", "latin-1")  # which finds out, and says so
]
