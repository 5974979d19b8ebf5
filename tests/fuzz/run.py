"""Run cases: damage, read, and look at how it ends."""

import random
import shutil
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from understudy.errors import UnderstudyError

from .targets import Target


@dataclass(frozen=True)
class Failure:
    """A case that did not end in a sentence, with what is needed to see it again."""

    target: str
    case: str
    content: bytes
    words: str

    def __str__(self) -> str:
        return f"{self.target}, case {self.case}: {self.words}\n  bytes: {self.content[:300]!r}"


def shares(targets: list[Target], cases: int) -> Iterator[tuple[Target, int]]:
    """How many cases each target gets, ``cases`` or a few more together."""
    total = sum(target.share for target in targets)
    return ((target, -(-cases * target.share // total)) for target in targets)


def run_case(target: Target, case: str, folder: Path) -> Failure | None:
    """One damaged file; ``case`` is the seed, so that it can be made again by itself."""
    rng = random.Random(f"{target.name}/{case}")
    content = target.mutate(target.content, rng)
    path = folder / target.file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target.load(path.parent if "/" in target.file else path)
    except UnderstudyError as reason:
        sentence = " ".join([str(reason), *getattr(reason, "__notes__", ())])
        if target.named and not any(name in sentence for name in (path.name, path.stem, path.parent.name)):
            return Failure(target.name, case, content, f"the file is not named: {sentence[:300]}")
        if not sentence.rstrip().endswith((".", "?", ")", "]")) and "\n" not in sentence:
            return Failure(target.name, case, content, f"not a sentence: {sentence[:300]}")
    except Exception as reason:
        return Failure(target.name, case, content, f"{type(reason).__name__}: {str(reason)[:300]}")
    return None


def run(
    targets: list[Target], folder: Path, *, seed: int, cases: int, only: str = "", timed: bool = False
) -> tuple[int, list[Failure]]:
    """All cases of one seed; how many there were, and those that failed, at most three of each target."""
    failures, done = [], 0
    for target, number in shares(targets, cases):
        if only and only not in target.name:
            continue
        started, own = time.monotonic(), []
        for case in range(number):
            if (failure := run_case(target, f"{seed}.{case}", folder)) is not None:
                own.append(failure)
                if len(own) == 3:
                    break
            done += 1
        failures += own
        if timed:
            took = (time.monotonic() - started) / max(number, 1)
            print(f"{target.name}: {number} cases, {1000 * took:.2f} ms each, {len(own)} failures", flush=True)  # noqa: T201
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return done, failures
