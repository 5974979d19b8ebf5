"""The random stream that every promise depends on.

By default the words are a ChaCha20 keystream under a 256-bit key from the operating system. A seeded stream uses
the same cipher under a key derived from the seed: reproducible, hence not private, and every manifest says so.

A stream never repeats itself: each child has its own 64-bit lane in the nonce, also where threads ask at once, a lane
is retired before the cipher's 32-bit block counter could wrap, a stream is never copied, and in a forked process it
takes a new key.
"""

import hashlib
import os
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms

from understudy.compiled import high_low_product, kernel
from understudy.errors import ParameterError
from understudy.parameters import Text

Words = npt.NDArray[np.uint64]

_SEED = Text(
    words="a whole number", example="1", admitted=lambda value: isinstance(value, int) and not isinstance(value, bool)
)
_ZEROS = bytes(1 << 20)
_LANE_BYTES = 1 << 37  # half of what a 32-bit counter of 64-byte blocks can address


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamKey:
    """The key of a stream on its way to another process, and whether a promise may rest on it; never written down."""

    bits: bytes = field(repr=False)
    is_secure: bool


class _Lanes:
    """A key and the lanes under it, each of which is handed out once; shared by a stream and all its children."""

    _one_at_a_time = threading.Lock()  # for the lanes of all keys: it is held for a moment only

    def __init__(self, key: StreamKey) -> None:
        self.key = key
        self._next = 0

    def take(self) -> int:
        """The next lane; two threads that ask at once get two."""
        with _Lanes._one_at_a_time:
            lane = self._next
            self._next = lane + 1
        return lane

    @classmethod
    def after_fork(cls) -> None:
        """A new lock: a thread that held the old one does not exist in a forked process and never gives it back."""
        cls._one_at_a_time = threading.Lock()


if hasattr(os, "register_at_fork"):  # nothing forks on Windows
    os.register_at_fork(after_in_child=_Lanes.after_fork)


class Stream:
    """Unlimited independent uniform 64-bit words.

    >>> Stream.seeded(7).below(6) == Stream.seeded(7).below(6)
    True
    >>> Stream.from_system().is_secure
    True
    """

    def __init__(self, *, key: StreamKey) -> None:
        if type(key) is not StreamKey:
            raise ParameterError(
                "`key` is bytes of the caller's own, which somebody may know; a promise rests on a key that nobody has "
                "seen. Use Stream.from_system(), or Stream.seeded(1) for a simulation."
            )
        self._lanes = _Lanes(key)
        self._open_lane()

    @classmethod
    def from_system(cls) -> Self:
        """Key from the operating system: the only kind a private release may use."""
        return cls(key=StreamKey(bits=os.urandom(32), is_secure=True))

    @classmethod
    def seeded(cls, seed: int) -> Self:
        """Reproducible, for tests and simulation only."""
        _SEED.check("seed", seed)
        return cls(key=_hashed(f"understudy seeded stream{seed}"))

    @classmethod
    def of_seed(cls, seed: int | None) -> Self:
        """What a caller asks for by a seed, or a secure one where there is none."""
        return cls.from_system() if seed is None else cls.seeded(seed)

    @staticmethod
    def checked(stream: "Stream | None") -> "Stream":
        """The stream that a caller gave, or a secure one; another generator in its place would void every promise."""
        if stream is None:
            return Stream.from_system()
        if type(stream) is not Stream:
            raise ParameterError(
                f"`stream` is a {type(stream).__name__}; every promise rests on understudy's own stream. Leave it out, "
                "or give Stream.seeded(1) for a simulation, which promises nothing."
            )
        return stream

    @classmethod
    def for_part(cls, number: int, seed: int | None) -> Self:
        """The stream of one part of a large draw, wherever that part is drawn.

        Without a seed its key comes from the operating system of the worker that draws the part and is never sent or
        stored, so a part that is drawn again is drawn from another stream. With a seed the number of the part is the
        counter, so that the same parts come out on any number of workers.
        """
        if seed is None:
            return cls.from_system()
        _SEED.check("seed", seed)
        return cls(key=_hashed(f"understudy seeded part {seed}/{number}"))

    @property
    def is_secure(self) -> bool:
        """Whether the key came from the operating system."""
        return self._lanes.key.is_secure

    def __repr__(self) -> str:
        return f"<Stream {'secure' if self.is_secure else 'seeded, not private'}>"

    def spawn(self) -> "Stream":
        """An independent stream under the same key, for another thread or range of rows."""
        child = object.__new__(Stream)
        self._mind_forks()
        child._lanes = self._lanes
        child._open_lane()
        return child

    def fresh_key(self) -> StreamKey:
        """A key for a stream in another process, which cannot share our lanes; never written anywhere."""
        return StreamKey(bits=self.words(4).tobytes(), is_secure=self.is_secure)

    def __reduce__(self) -> str:
        raise TypeError("a stream is not copied or written to disk: two copies would draw the same noise.")

    def _mind_forks(self) -> None:
        """A forked process has our key and position: it would draw our noise again, so it takes a key of its own."""
        if self._process != os.getpid() and self.is_secure:
            self._lanes = _Lanes(StreamKey(bits=os.urandom(32), is_secure=True))
            self._open_lane()

    def _open_lane(self) -> None:
        lanes = self._lanes
        nonce = struct.pack("<IQI", 0, lanes.take(), 0)  # block counter, lane, unused
        self._cipher: CipherContext = Cipher(algorithms.ChaCha20(lanes.key.bits, nonce), None).encryptor()
        self._left = _LANE_BYTES
        self._process = os.getpid()

    def fill(self, words: Words) -> None:
        """Overwrite ``words`` with fresh ones."""
        self._mind_forks()
        target = words.view(np.uint8).data
        done = 0
        while done < len(target):
            if self._left == 0:
                self._open_lane()
            step = min(len(_ZEROS), len(target) - done, self._left)
            self._cipher.update_into(_ZEROS[:step] if step < len(_ZEROS) else _ZEROS, target[done : done + step])
            self._left -= step
            done += step

    def words(self, count: int) -> Words:
        """``count`` fresh words."""
        fresh = np.empty(count, dtype=np.uint64)
        if count:
            self.fill(fresh)
        return fresh

    def below(self, bound: int) -> int:
        """An exactly uniform integer in [0, bound), for any positive ``bound``, however large."""
        if bound < 1:
            raise ParameterError(f"`bound` is {bound}; a uniform draw needs at least one outcome.")
        bits = (bound - 1).bit_length()
        words = -(-bits // 64)
        while True:
            value = int.from_bytes(self.words(words).tobytes(), "little") & ((1 << bits) - 1)
            if value < bound:
                return value

    def below_each(self, bounds: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """One exactly uniform integer in [0, bound) for each positive bound."""
        out = np.empty(len(bounds), dtype=np.uint64)
        limits = np.ascontiguousarray(bounds, dtype=np.uint64)
        self.run(lambda words, start: _below_each(limits, words, out, start), len(out), words_each=1)
        return out

    def run(self, step: Callable[[Words, int], tuple[int, int]], items: int, *, words_each: int) -> None:
        """Drive a kernel that consumes an unknown number of words per item.

        ``step(words, start)`` works from item ``start`` on and returns ``(items finished, words those used)``. The
        words of an unfinished item are offered to it again with fresh ones behind them: dropping them would favour
        the items that need few words and so bias the draw.
        """
        start = 0
        kept: Words = np.empty(0, dtype=np.uint64)
        while start < items:
            fresh = self.words(min(max((items - start) * words_each, 64), 1 << 20) + 16)
            pool = np.concatenate([kept, fresh]) if len(kept) else fresh
            start, used = step(pool, start)
            kept = pool[used:].copy()

    def generator(self) -> np.random.Generator:
        """A NumPy generator for baselines that promise nothing (floating-point draws are never private)."""
        key = int.from_bytes(self.words(2).tobytes(), "little")
        return np.random.Generator(np.random.Philox(key=key))


def _hashed(text: str) -> StreamKey:
    """A key that whoever knows the seed can make."""
    return StreamKey(bits=hashlib.sha256(text.encode()).digest(), is_secure=False)


@kernel
def below(bound: np.uint64, words: Words, position: int) -> tuple[np.uint64, int]:
    """An exactly uniform number in [0, bound) and the next position; position -1 when the words run out.

    Lemire's multiply-and-reject: the high half of word x bound, redrawn in the biased sliver 2^64 mod bound. That is
    smaller than bound, so that most draws need no division.
    """
    while position < len(words):
        high, low = high_low_product(words[position], bound)
        position += 1
        if low >= bound or low >= (np.uint64(0) - bound) % bound:
            return high, position
    return np.uint64(0), -1


@kernel
def first_above(values: Any, begin: int, end: int, wanted: Any) -> Any:
    """First position in [begin, end) whose value is above ``wanted`` in ascending ``values``, or ``end``."""
    while begin < end:
        middle = (begin + end) >> 1
        if values[middle] > wanted:
            end = middle
        else:
            begin = middle + 1
    return begin


@kernel
def _below_each(bounds: Words, words: Words, out: Words, start: int) -> tuple[int, int]:
    position = 0
    for item in range(start, len(bounds)):
        value, after = below(bounds[item], words, position)
        if after < 0:
            return item, position
        out[item], position = value, after
    return len(bounds), position
