"""MST of OpenDP (`opendp.extras.mbi`, with Private-PGM behind it)."""

from common import run
from opendp_tables import release


def make(codes, sizes, epsilon, delta):
    from opendp.extras.mbi import MST

    return release(codes, sizes, epsilon, delta, MST())


run(make)
