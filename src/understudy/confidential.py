"""Results that were computed on a confidential table: what shows them by accident shows no figure of it."""


class Confidential:
    """Base of such results; their dataclasses say ``repr=False``, so that a notebook prints this line instead."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: computed on confidential data, not for release>"
