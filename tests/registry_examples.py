"""One example of every method of synthesis, as the methods state it, for all tests that must meet every method."""

from understudy.synth.registry import METHODS

EXAMPLES = {name: dict(cls.example) for name, cls in METHODS.items()}
