"""How `version_0_1_0/flows` was made: run with the code of commit 2b7c43a in an empty folder.

A release of flows by levels, which is younger than the other kinds there. All data are simulated.
"""

import numpy as np
import pyarrow as pa

import understudy as us


def main() -> None:
    """Write all files."""
    drawn = np.random.default_rng(2)
    names = [f"p{number}" for number in range(12)]
    places = {"place": names, "county": [f"c{number % 3}" for number in range(12)]}
    places |= {"latitude": [45 + number / 50 for number in range(12)], "longitude": [-93.0] * 12}
    flows = pa.table({"origin": drawn.choice(names, 300), "destination": drawn.choice(names[:3], 300)})
    us.commute(flows, 4.0, delta=1e-5, places=pa.table(places), levels="county", out="flows")


if __name__ == "__main__":
    main()
