"""Runs in pycanon's own environment: tables as JSON lines in, what pycanon says of them as JSON lines out."""

import json
import sys


def main() -> None:
    """Answer until the other side hangs up; imports are here, because our own environment has no pycanon."""
    import pandas as pd
    from pycanon import anonymity

    for line in sys.stdin:
        asked = json.loads(line)
        frame = pd.DataFrame(asked["columns"])
        quasi, sensitive = asked["quasi"], [asked["sensitive"]]
        frame["rank"] = frame[asked["sensitive"]].map({value: rank for rank, value in enumerate(asked["order"])})
        several = frame["rank"].nunique() > 1
        said = {
            "k": int(anonymity.k_anonymity(frame, quasi)),
            "distinct": int(anonymity.l_diversity(frame, quasi, sensitive)),
            "entropy": int(anonymity.entropy_l_diversity(frame, quasi, sensitive)),
            "equal": float(anonymity.t_closeness(frame, quasi, sensitive)),
            "ordered": float(anonymity.t_closeness(frame, quasi, ["rank"])) if several else 0.0,
        }
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
