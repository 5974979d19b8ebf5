"""`projects`: who may have questions answered on the real data, and how much each project and key may spend."""

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import table, tell
from understudy.cli.serve import Database, SecretFile
from understudy.cli.shared import App, number_option, option
from understudy.facade import projects

app = App(help="Projects that ask questions on data sets, and their budgets.")

Project = Annotated[str, typer.Argument(help="Name of a project; see `understudy projects list`.")]
DataName = Annotated[str, typer.Argument(help="Name of a data set, as in the file of data sets.")]
Epsilon = Annotated[float, number_option("Cap on the epsilons of all answers together.")]
Delta = Annotated[float, number_option("Cap on their deltas; 0 for pure differential privacy only.")]

KeptDelta = Annotated[float | None, number_option("Cap on their deltas; without it that of before, at first 0.")]


@app.command()
def cap(
    data: DataName,
    epsilon: Epsilon,
    delta: KeptDelta = None,
    file: Annotated[Path, option("File that names data sets.", "--data")] = Path("data.toml"),
    database: Database = None,
    secret_file: SecretFile = None,
    json: o.Json = False,
) -> None:
    """Set the cap of a data set over all projects, and charge what it newly allows to the data set's account."""
    made = projects.data_cap(data, file, epsilon=epsilon, delta=delta, database=database, secret_file=secret_file)
    left = f"the account has epsilon {made['account_left']:.9g} left"
    was = "" if made["before"] is None else f" (before: {_amount(made['before'])}; what was charged stays charged)"
    tell(made, [f"answers on {data} may cost {_amount(made['cap'])} together{was}; {left}."], json=json)


@app.command()
def create(
    project: Annotated[str, typer.Argument(help="Name of the new project.")],
    of: Annotated[str, option("Data set that it asks on.")],
    epsilon: Epsilon,
    delta: Delta = 0.0,
    database: Database = None,
    secret_file: SecretFile = None,
    json: o.Json = False,
) -> None:
    """Make a project with a cap of its own."""
    made = projects.create_project(
        project, of, epsilon=epsilon, delta=delta, database=database, secret_file=secret_file
    )
    tell(made, [f"{project} may spend {_amount(made['cap'])} on {of}."], json=json)


@app.command()
def change(
    project: Project,
    epsilon: Epsilon,
    delta: KeptDelta = None,
    database: Database = None,
    secret_file: SecretFile = None,
    json: o.Json = False,
) -> None:
    """Change the cap of a project; not below what is spent."""
    made = projects.project_cap(project, epsilon=epsilon, delta=delta, database=database, secret_file=secret_file)
    tell(made, [f"{project} may spend {_amount(made['cap'])}, of which {_amount(made['spent'])} is spent."], json=json)


@app.command()
def add(
    project: Project,
    key: Annotated[str, typer.Argument(help="Id of a key with the scope answer; see `understudy keys list`.")],
    epsilon: Epsilon,
    delta: KeptDelta = None,
    database: Database = None,
    secret_file: SecretFile = None,
    json: o.Json = False,
) -> None:
    """Let a key ask for a project, up to a cap of its own; again, to change that cap."""
    made = projects.join_project(project, key, epsilon=epsilon, delta=delta, database=database, secret_file=secret_file)
    own = next(member for member in made["members"] if member["key_id"] == key)
    tell(made, [f"{key} may spend {_amount(own['cap'])} of {project}."], json=json)


@app.command("list")
def list_projects(
    of: Annotated[str | None, option("Only those of this data set.")] = None,
    database: Database = None,
    secret_file: SecretFile = None,
    json: o.Json = False,
) -> None:
    """Every project and its keys: caps, spending, and what is left."""
    found, faults = projects.list_projects(of, database=database, secret_file=secret_file)
    rows = [
        (line["project"], line["data"], who, *(_amount(budget[name]) for name in ("cap", "spent", "remaining")))
        for line in found
        for who, budget in [("all keys", line), *((member["key_id"], member) for member in line["members"])]
    ]
    headings = ("project", "data", "key", "cap", "spent", "left")
    lines: list[Any] = [table(headings, rows, whole=("key",))] if rows else ["there is no project yet."]
    lines += [f"the ledger does not add up: {fault}" for fault in faults]
    tell({"projects": found, "faults": faults}, lines, json=json)


@app.command()
def ledger(
    data: DataName,
    database: Database = None,
    secret_file: SecretFile = None,
    json: o.Json = False,
) -> None:
    """Every cap that was set and every paid attempt on a data set."""
    lines, faults = projects.data_ledger(data, database=database, secret_file=secret_file)
    rows = [
        (
            line["when"][:16].replace("T", " "),
            line["what"],
            line["of"],
            line["key_id"] or "",
            _amount(line),
            line.get("question", ""),
            line.get("answer", ""),
        )
        for line in lines
    ]
    headings = ("when", "what", "of", "key", "amount", "question", "answer")
    told = [
        table(headings, rows, whole=("when", "answer")),
        *(f"the ledger does not add up: {fault}" for fault in faults),
    ]
    tell({"lines": lines, "faults": faults}, told, json=json)


def _amount(amount: dict[str, Any]) -> str:
    return f"epsilon {amount['epsilon']:.9g}" + (f", delta {amount['delta']:.3g}" if amount["delta"] else "")
