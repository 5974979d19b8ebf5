"""What the folder of an answer states is computed again: its price from the question, its gaps from its figures."""

import math

import pyarrow as pa
import pyarrow.parquet

from understudy.answers.plan import METHOD, Plan
from understudy.answers.product import COLUMNS
from understudy.answers.question import parse_question
from understudy.errors import UnderstudyError
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Ledger
from understudy.privacy.provenance import Made
from understudy.release.verify import Looked, bought_inputs, differing_prices


def recheck_answer(looked: Looked) -> None:
    """The checks of an answer; other releases are left alone."""
    if looked.made is not Made.ANSWER or looked.book is None:
        return
    manifest, parameters = looked.manifest, looked.manifest["parameters"]
    try:
        question = parse_question(parameters["question"], looked.book)
        plan = Plan(
            question=question,
            book=looked.book,
            epsilon=parameters["epsilon"],
            delta=parameters["delta"],
            level=parameters["level"],
            target=parameters["target"],
            neighbours=Neighbours(parameters["neighbours"]),
            start=None if parameters["start"] is None else tuple(parameters["start"]),
        )
        quote = plan.quote
    except UnderstudyError as reason:
        looked.problems.append(f"the question cannot be asked of this codebook: {reason}")
        return
    faults = [] if manifest["method"] == METHOD else ["an answer was made by another method"]
    if question.text != parameters["question"]:
        faults.append("the question is not in its canonical words")
    if manifest["rows"]["number"] != quote.rows:
        faults.append(f"the question has {quote.rows:,} figures, the manifest says {manifest['rows']['number']:,}")
    missing = [warning for warning in quote.warnings if warning not in manifest["warnings"]]
    faults += [f"the manifest leaves out a warning: {warning}" for warning in missing]
    if looked.total is not None and looked.total.is_formal:
        due = (quote.ledger + bought_inputs(manifest)).total(delta=manifest["delta_for_total"])
        faults += differing_prices(due, Ledger.from_list(manifest["ledger"]).total(delta=manifest["delta_for_total"]))
    looked.conclude(faults, "the question, its parameters and the codebook cost what is stated")


def check_figures(looked: Looked) -> None:
    """Every figure lies in its interval, and every gap is the difference of two figures."""
    if looked.made is not Made.ANSWER:
        return
    try:
        table = pyarrow.parquet.read_table(looked.table)
        rows = table.to_pylist()
    except (OSError, pa.ArrowException) as reason:
        looked.problems.append(f"the table cannot be read: {reason}")
        return
    faults = []
    if tuple(table.column_names) != COLUMNS:
        faults.append("the table has not the columns of an answer")
    elif len(rows) != (number := looked.manifest["rows"]["number"]):
        faults.append(f"the table has {len(rows):,} figures, the manifest says {number:,}")
    else:
        told = [row for row in rows if row["estimate"] is not None]
        if any(not row["low"] <= row["estimate"] <= row["high"] for row in told):
            faults.append("a figure of the table lies outside its own interval")
        gaps = [row for row in told if row["release"] is not None]
        if any(not math.isclose(row["gap"], row["estimate"] - row["release"], abs_tol=1e-9) for row in gaps):
            faults.append("a gap of the table is not the difference of its two figures")
    looked.conclude(faults, f"all {len(rows):,} figures lie in their intervals")
