"""Everything that Understudy raises on purpose.

A user's mistake is always an :class:`UnderstudyError`; anything else is our bug.

::

    UnderstudyError
    ├── ParameterError      a number or word that breaks its rule
    ├── CodebookError       the codebook contradicts itself or cannot be read
    ├── DataError           the data cannot be read, or does not fit the codebook
    ├── BudgetError         the account refuses the charge
    │   └── AccountError    there is no account in this file, or none can be made there
    ├── RefusalError        the request is well formed, but honouring it would be unsafe or useless
    │   └── EmptyDraftError a priced draft found nothing to show, which is an answer and stays charged
    ├── ReleaseError        a release cannot be written, or does not verify
    ├── MissingExtraError   a package that this needs is not installed; the message names the extra that brings it
    └── StoppedError        the user interrupted; nothing left the program

Every message names the value, the rule and the remedy, in that order.
"""

from collections.abc import Iterable, Sequence


class UnderstudyError(Exception):
    """Base of every error a user can cause and mend."""


class ParameterError(UnderstudyError, ValueError):
    """A parameter breaks its rule."""


class CodebookError(UnderstudyError, ValueError):
    """A codebook contradicts itself; ``faults`` holds every fault, not only the first."""

    def __init__(self, message: str, faults: Sequence[str] = ()) -> None:
        self.faults = tuple(faults)
        listed = "".join(f"\n  - {fault}" for fault in self.faults)
        super().__init__(message + listed)


class DataError(UnderstudyError, ValueError):
    """The data cannot be read, or does not fit its codebook."""


class BudgetError(UnderstudyError):
    """The account refuses the charge."""


class AccountError(BudgetError):
    """The account's file cannot be found, made or understood."""


class RefusalError(UnderstudyError):
    """The request is understood and declined, with the alternative."""


class EmptyDraftError(RefusalError):
    """A priced draft has nothing to show: an answer, drawn with noise and paid for."""


class ReleaseError(UnderstudyError):
    """A release cannot be written, read or verified."""


class MissingExtraError(UnderstudyError, ImportError):
    """What was asked for needs packages that the base installation leaves out; see ``understudy.extras``."""


class StoppedError(UnderstudyError):
    """The user interrupted before anything left the program."""


def listed(names: Iterable[str], most: int = 12) -> str:
    """The first of many names, for a sentence, and how many more there are.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    names = list(names)
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def quoted(names: Iterable[str], most: int = 12) -> str:
    """The same with every name in quotation marks."""
    return listed(map(repr, names), most)


def and_more(number: int) -> str:
    """What follows the first of so many faults."""
    return f" (and {number - 1:,} more)" if number > 1 else ""
