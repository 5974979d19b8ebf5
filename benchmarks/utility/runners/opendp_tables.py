"""What both runners of OpenDP share: its own price, and a domain without a level that we do not have."""

import opendp.prelude as dp
import polars as pl


def _rho(epsilon, delta):
    """The largest zero-concentrated price that OpenDP itself converts to at most (epsilon, delta)."""
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.l2_distance(T="f64")

    def within(rho):
        noisy = dp.m.make_gaussian(*space, scale=(0.5 / rho) ** 0.5)
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noisy), delta=delta).map(1.0)[0] <= epsilon

    return dp.binary_search(within, bounds=(1e-9, epsilon))


def release(codes, sizes, epsilon, delta, algorithm):
    """Code 0 is left out of the keys: what is in no key becomes null, which OpenDP adds to every column anyway."""
    dp.enable_features("contrib")
    rho = _rho(epsilon, delta)
    table = (
        dp.Context.compositor(
            data=pl.LazyFrame({name: codes[name].to_numpy() for name in sizes}),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(rho=rho),
        )
        .query(rho=rho)
        .contingency_table(keys={name: list(range(1, size)) for name, size in sizes.items()}, algorithm=algorithm)
        .release()
    )

    def draw(rows):
        # "round", its default with mbi 1.1.0, gives rows in file order the same ranks in every column and so makes
        # dependence that the model does not have: two-way error .094 on Adult instead of .038
        drawn = table.synthesize(rows, method="sample").fill_null(0)
        return {name: drawn[name].to_list() for name in sizes}

    return draw
