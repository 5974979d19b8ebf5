"""Whatever the codebook: no orphan, no broken rule, no cap exceeded, and the same histories from a model file."""

import numpy as np
import pytest
from linked_examples import random_book

from understudy.blocks.latent import LatentClasses
from understudy.codebook.views import views_of
from understudy.histories.decoding import decode_rows
from understudy.histories.drawing import Measured, draw_block
from understudy.histories.measuring import ViewTables
from understudy.mechanisms.stream import Stream
from understudy.sources.linked_check import check_linked


def invented(views, chance):
    """Tables that nobody measured, and that contradict each other and the rules."""
    measured = []
    for view in views:
        sizes = view.book.sizes
        classes = LatentClasses(
            weights=np.array([0.5, 0.5]), levels=[chance.dirichlet(np.ones(size), 2) for size in sizes]
        )
        twos = {(i, j): chance.random((sizes[i], sizes[j])) + 0.01 for i, j in view.pairs}
        ones = [chance.dirichlet(np.ones(size)) for size in sizes]
        measured.append(Measured(view=view, tables=ViewTables(ones=ones, twos=twos, classes=classes), steps=1))
    return measured


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_random_codebooks_draw_no_orphan_and_no_broken_rule(start):
    for seed in range(start, start + 20):
        book, chance = random_book(seed), np.random.default_rng(seed)
        views, stream = views_of(book), Stream.seeded(seed)
        measured = invented(views, chance)
        rows = draw_block(book, measured, 60, stream)
        for view in views:
            held = rows.tables[view.table.name]
            if not view.is_first:
                assert held.siblings(len(rows.tables[view.table.parent])).max(initial=0) <= view.table.cap
            seen = rows.in_view(view, np.arange(len(held)), view.book.names)
            assert view.book.allowed.fits([seen[name] for name in view.book.names]).all()
        if seed % 20 == 0:  # the checker of real data agrees
            tables = decode_rows(rows, measured, stream)
            faults = [fault.sentence for fault in check_linked(tables, book) if fault.kind != "empty file"]
            assert faults == []
