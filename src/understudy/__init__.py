"""Understudy makes tables that are realistic but not real, under a privacy promise that is true.

>>> import understudy as us
>>> book = us.datasets.discharges_codebook()
>>> patients = us.datasets.discharges(rows=5000, seed=1)
>>> us.quote(book, rows=100, method="pegs", epsilon_per_record=1.0, delta=1e-6).total.kind
'ApproxDP'
>>> release = us.synthesize(patients, book, rows=100, method="pegs", epsilon_per_record=1.0, delta=1e-6)
>>> release.table.num_rows
100

The same in steps, with a recipe as an object:

>>> fitted = us.PeGS(epsilon_per_record=1.0, delta=1e-6).fit(us.open(patients, book))
>>> fitted.sample(rows=100)
<Release of 100 rows by pegs, ApproxDP>
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from understudy.callable_rooms import answer_calls
from understudy.version import __version__ as __version__

if TYPE_CHECKING:  # for editors and type checkers; a test holds it together with the table below
    from understudy import datasets as datasets
    from understudy.codebook import Codebook as Codebook
    from understudy.codebook import LinkedCodebook as LinkedCodebook
    from understudy.evaluate.combine import combine as combine
    from understudy.facade.anonymity import anonymize as anonymize
    from understudy.facade.anonymity import measure_risk as measure_risk
    from understudy.facade.anonymity import report_anonymity as report_anonymity
    from understudy.facade.anonymity import weigh_anonymity as weigh_anonymity
    from understudy.facade.answers import answer as answer
    from understudy.facade.answers import ask_release as ask_release
    from understudy.facade.answers import quote_answer as quote_answer
    from understudy.facade.averages import averages_risk as averages_risk
    from understudy.facade.averages import reconstruct as reconstruct
    from understudy.facade.boards import read_board as read_board
    from understudy.facade.boards import save_board as save_board
    from understudy.facade.book_edits import edit_column as edit_column
    from understudy.facade.book_edits import remove_rule as remove_rule
    from understudy.facade.book_edits import set_cap as set_cap
    from understudy.facade.book_edits import set_person as set_person
    from understudy.facade.book_edits import set_weight as set_weight
    from understudy.facade.book_edits import take_codes as take_codes
    from understudy.facade.codebooks import check as check
    from understudy.facade.codebooks import declare as declare
    from understudy.facade.codebooks import draft as draft
    from understudy.facade.codebooks import records_per_cell as records_per_cell
    from understudy.facade.commutes import commute as commute
    from understudy.facade.commutes import evaluate_commute as evaluate_commute
    from understudy.facade.commutes import map_commute as map_commute
    from understudy.facade.commutes import quote_commute as quote_commute
    from understudy.facade.demo import demo as demo
    from understudy.facade.demo import example_commutes as example_commutes
    from understudy.facade.demo import example_histories as example_histories
    from understudy.facade.demo import example_patients as example_patients
    from understudy.facade.editions import forecast_editions as forecast_editions
    from understudy.facade.editions import supersede as supersede
    from understudy.facade.editions import withdraw as withdraw
    from understudy.facade.forecasts import forecast as forecast
    from understudy.facade.inference import infer as infer
    from understudy.facade.keeping import keep_back as keep_back
    from understudy.facade.linked import draft_tables as draft_tables
    from understudy.facade.linked import split as split
    from understudy.facade.linked import template as template
    from understudy.facade.linked_looks import evaluate_linked as evaluate_linked
    from understudy.facade.looks import audit as audit
    from understudy.facade.looks import diagnose as diagnose
    from understudy.facade.looks import evaluate as evaluate
    from understudy.facade.looks import evaluate_large as evaluate_large
    from understudy.facade.looks import rumap as rumap
    from understudy.facade.methods import method_facts as method_facts
    from understudy.facade.passports import passport as passport
    from understudy.facade.passports import sign as sign
    from understudy.facade.peeks import column_counts as column_counts
    from understudy.facade.peeks import first_rows as first_rows
    from understudy.facade.plans import plan as plan
    from understudy.facade.r_frames import r_functions as r_functions
    from understudy.facade.releases import combine_files as combine_files
    from understudy.facade.releases import verify as verify
    from understudy.facade.reviews import learn_rules as learn_rules
    from understudy.facade.reviews import review as review
    from understudy.facade.reviews import rules as rules
    from understudy.facade.scores import draw_reliability as draw_reliability
    from understudy.facade.scores import draw_shapes as draw_shapes
    from understudy.facade.scores import train as train
    from understudy.facade.tables import count as count
    from understudy.facade.tables import draw as draw
    from understudy.facade.tables import draw_parts as draw_parts
    from understudy.facade.tables import impute as impute
    from understudy.facade.tables import quote as quote
    from understudy.facade.tables import quote_count as quote_count
    from understudy.facade.tables import read_recipe as read_recipe
    from understudy.facade.tables import synthesize as synthesize
    from understudy.facade.tables import synthesize_many as synthesize_many
    from understudy.facade.tables import synthesize_parts as synthesize_parts
    from understudy.privacy.account import Account as Account
    from understudy.privacy.guarantees import Neighbours as Neighbours
    from understudy.release import Release as Release
    from understudy.sources import open_source as _open_source
    from understudy.synth import METHODS as METHODS
    from understudy.synth import make_recipe as make_recipe
    from understudy.synth.model_file import load_model as load_model

    open = _open_source  # noqa: A001 - `us.open` is the documented name

_HOME = {
    "Account": "understudy.privacy.account",
    "Codebook": "understudy.codebook",
    "LinkedCodebook": "understudy.codebook",
    "METHODS": "understudy.synth",
    "Neighbours": "understudy.privacy.guarantees",
    "Release": "understudy.release",
    "anonymize": "understudy.facade.anonymity",
    "answer": "understudy.facade.answers",
    "ask_release": "understudy.facade.answers",
    "audit": "understudy.facade.looks",
    "averages_risk": "understudy.facade.averages",
    "check": "understudy.facade.codebooks",
    "column_counts": "understudy.facade.peeks",
    "combine": "understudy.evaluate.combine",
    "combine_files": "understudy.facade.releases",
    "commute": "understudy.facade.commutes",
    "count": "understudy.facade.tables",
    "datasets": "understudy",
    "declare": "understudy.facade.codebooks",
    "demo": "understudy.facade.demo",
    "diagnose": "understudy.facade.looks",
    "draft": "understudy.facade.codebooks",
    "draft_tables": "understudy.facade.linked",
    "draw": "understudy.facade.tables",
    "draw_parts": "understudy.facade.tables",
    "draw_reliability": "understudy.facade.scores",
    "draw_shapes": "understudy.facade.scores",
    "edit_column": "understudy.facade.book_edits",
    "evaluate": "understudy.facade.looks",
    "evaluate_commute": "understudy.facade.commutes",
    "evaluate_large": "understudy.facade.looks",
    "evaluate_linked": "understudy.facade.linked_looks",
    "example_commutes": "understudy.facade.demo",
    "example_histories": "understudy.facade.demo",
    "example_patients": "understudy.facade.demo",
    "first_rows": "understudy.facade.peeks",
    "forecast": "understudy.facade.forecasts",
    "forecast_editions": "understudy.facade.editions",
    "impute": "understudy.facade.tables",
    "infer": "understudy.facade.inference",
    "keep_back": "understudy.facade.keeping",
    "learn_rules": "understudy.facade.reviews",
    "load_model": "understudy.synth.model_file",
    "make_recipe": "understudy.synth",
    "map_commute": "understudy.facade.commutes",
    "measure_risk": "understudy.facade.anonymity",
    "method_facts": "understudy.facade.methods",
    "open": "understudy.sources",
    "passport": "understudy.facade.passports",
    "plan": "understudy.facade.plans",
    "quote": "understudy.facade.tables",
    "quote_answer": "understudy.facade.answers",
    "quote_commute": "understudy.facade.commutes",
    "quote_count": "understudy.facade.tables",
    "r_functions": "understudy.facade.r_frames",
    "read_board": "understudy.facade.boards",
    "read_recipe": "understudy.facade.tables",
    "reconstruct": "understudy.facade.averages",
    "records_per_cell": "understudy.facade.codebooks",
    "remove_rule": "understudy.facade.book_edits",
    "report_anonymity": "understudy.facade.anonymity",
    "review": "understudy.facade.reviews",
    "rules": "understudy.facade.reviews",
    "rumap": "understudy.facade.looks",
    "save_board": "understudy.facade.boards",
    "set_cap": "understudy.facade.book_edits",
    "set_person": "understudy.facade.book_edits",
    "set_weight": "understudy.facade.book_edits",
    "sign": "understudy.facade.passports",
    "split": "understudy.facade.linked",
    "supersede": "understudy.facade.editions",
    "synthesize": "understudy.facade.tables",
    "synthesize_many": "understudy.facade.tables",
    "synthesize_parts": "understudy.facade.tables",
    "take_codes": "understudy.facade.book_edits",
    "template": "understudy.facade.linked",
    "train": "understudy.facade.scores",
    "verify": "understudy.facade.releases",
    "weigh_anonymity": "understudy.facade.anonymity",
    "withdraw": "understudy.facade.editions",
}
"""Where everyday names live; recipes stand beside them by the names of their classes (`understudy.synth`)."""
_CALLED = {"open": "open_source"}
_ROOMS = ("anonymize", "commute", "datasets", "evaluate", "infer", "reconstruct")
"""Names of rooms; all but the data sets can be called like a function."""
answer_calls(__name__, {name: _HOME[name] for name in _ROOMS if name != "datasets"})


def __getattr__(name: str) -> Any:
    """Import on first use, so that `import understudy` and `understudy --help` stay fast."""
    if name == "__all__":
        return __dir__()
    if name in _ROOMS:
        return import_module(f"understudy.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), _CALLED.get(name, name))
    if not name.startswith("_") and name in _recipe_names():
        for recipe in import_module("understudy.synth").METHODS.values():
            if recipe.__name__ == name:
                return recipe
    raise AttributeError(f"module 'understudy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({"__version__", *_HOME, *_recipe_names()})


def _recipe_names() -> set[str]:
    from understudy.recipe_names import foreign_recipes, own_recipes

    return {*own_recipes(), *(entry.attr for entry in foreign_recipes())}
