"""Google's DPSynth, its relational module (experimental), with the settings of its own example: MST, 100 steps.

Its own ``calibrate`` needs an unreleased dp-accounting (the released one asks for the event of a budget of 0,
which it refuses). So it is configured with the budget that one Gaussian measurement would have at this epsilon and
delta, which is no less than its own accounting would find: that is in its favour.
"""

import math

import numpy as np
from dpsynth import discrete_mechanisms, domain
from dpsynth.relational import domain as relational
from dpsynth.relational import synthesizer
from linked_common import CAP, PATIENT, run
from scipy.optimize import brentq
from scipy.stats import norm


def budget(epsilon, delta):
    def excess(mu):
        return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu) - delta

    return brentq(excess, 1e-3, 50) ** 2 / 2


def make(tables, levels, folder, epsilon, delta):
    domains = {
        table: {name: domain.CategoricalAttribute(possible_values=own) for name, own in columns.items()}
        for table, columns in levels.items()
    }
    link = relational.ForeignKeyRelation(
        parent_table="patients",
        parent_primary_key=PATIENT,
        child_table="encounters",
        child_foreign_key=PATIENT,
        max_children_per_parent=CAP,
    )
    config = synthesizer.MultiTableConfig(
        domains=domains,
        foreign_keys=[link],
        discrete_mechanism=discrete_mechanisms.MSTConfig(pgm_iters=100),
        num_permutation_slots=2,
        exploration_strategy="size_sliced",
    )
    mechanism = config.configure(zcdp_rho=budget(epsilon, delta))
    made = mechanism(rng=np.random.default_rng(), data=tables)  # it fits and draws in one
    return lambda: {name: table.reset_index(drop=True) for name, table in made.synthetic_tables.items()}


run(make)
