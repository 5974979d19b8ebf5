"""`review`: questions on data sets that wait for a steward."""

from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import table, tell
from understudy.cli.serve import Database, SecretFile
from understudy.cli.shared import App, option
from understudy.facade import projects

app = App(help="Questions on data sets that wait for a steward's decision.")

Answer = Annotated[str, typer.Argument(help="Id of the question; see `understudy review list`.")]


@app.command("list")
def list_questions(
    of: Annotated[str | None, option("Only those on this data set.")] = None,
    database: Database = None,
    secret_file: SecretFile = None,
    json: o.Json = False,
) -> None:
    """What waits: the question, its price, and what the release says. Nothing comes from the real rows."""
    waiting = projects.review_queue(of, database=database, secret_file=secret_file)
    rows = [(line["id"], line["project"], line["question"], f"{line['price']['epsilon']:.9g}") for line in waiting]
    headings = ("id", "project", "question", "epsilon")
    lines: list[Any] = [table(headings, rows, whole=("id",))] if rows else ["nothing waits."]
    tell(waiting, lines, json=json)


@app.command()
def approve(answer: Answer, database: Database = None, secret_file: SecretFile = None, json: o.Json = False) -> None:
    """Let a question be answered; the asker's next request pays for it and draws it."""
    line = projects.review_question(answer, approve=True, database=database, secret_file=secret_file)
    tell(line, [f"{line['question']}: {line['status']}."], json=json)


@app.command()
def decline(
    answer: Answer,
    words: Annotated[str, option("Why; the asker reads it.")],
    database: Database = None,
    secret_file: SecretFile = None,
    json: o.Json = False,
) -> None:
    """Decline a question with words. Nothing is charged."""
    line = projects.review_question(answer, approve=False, words=words, database=database, secret_file=secret_file)
    tell(line, [f"{line['question']}: {line['status']}."], json=json)
