"""AIM of OpenDP (`opendp.extras.mbi`, with Private-PGM behind it), two rounds per column, as for dpmm."""

from common import run
from opendp_tables import release


def make(codes, sizes, epsilon, delta):
    from opendp.extras.mbi import AIM

    return release(codes, sizes, epsilon, delta, AIM(rounds=2 * len(sizes)))


run(make)
