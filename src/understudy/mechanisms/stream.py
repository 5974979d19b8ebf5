"""The random stream that every promise rests on.

By default the words are a ChaCha20 keystream under a 256-bit key from the operating system. A seeded stream uses
the same cipher under a key derived from the seed: reproducible, hence not private, and every manifest says so.

A stream never repeats itself: each child has its own 64-bit lane in the nonce, and a lane is retired before the
cipher's 32-bit block counter could wrap.
"""

import hashlib
import os
import struct
from collections.abc import Callable
from typing import Self

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms

from understudy.compiled import high_low_product, kernel
from understudy.errors import ParameterError

__all__ = ["Stream", "Words"]

Words = npt.NDArray[np.uint64]

_ZEROS = bytes(1 << 20)
_LANE_BYTES = 1 << 37  # half of what a 32-bit counter of 64-byte blocks can address


class Stream:
    """Unlimited independent uniform 64-bit words.

    >>> Stream.seeded(7).below(6) == Stream.seeded(7).below(6)
    True
    >>> Stream.from_system().is_secure
    True
    """

    def __init__(self, *, key: bytes, secure: bool) -> None:
        self._key = key
        self.is_secure = secure
        self._next_lane = [0]  # shared by all children, so that no two of them ever hold one lane
        self._open_lane()

    @classmethod
    def from_system(cls) -> Self:
        """Key from the operating system: the only kind a private release may use."""
        return cls(key=os.urandom(32), secure=True)

    @classmethod
    def seeded(cls, seed: int) -> Self:
        """Reproducible, for tests and simulation only."""
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise ParameterError(f"`seed` is {seed!r}; it must be a whole number. Try 1.")
        return cls(key=hashlib.sha256(b"understudy seeded stream" + str(seed).encode()).digest(), secure=False)

    @classmethod
    def for_part(cls, number: int, seed: int | None) -> Self:
        """The stream of one part of a large draw, wherever that part is drawn.

        Without a seed its key comes from the operating system of the worker that draws the part and is never sent or
        stored, so a part that is drawn again is drawn from another stream. With a seed the number of the part is the
        counter, so that the same parts come out on any number of workers.
        """
        if seed is None:
            return cls.from_system()
        cls.seeded(seed)  # refuses what is no seed
        text = f"understudy seeded part {seed}/{number}"
        return cls(key=hashlib.sha256(text.encode()).digest(), secure=False)

    def __repr__(self) -> str:
        return f"<Stream {'secure' if self.is_secure else 'seeded, not private'}>"

    def spawn(self) -> "Stream":
        """An independent stream under the same key, for another thread or range of rows."""
        child = object.__new__(Stream)
        child._key, child.is_secure, child._next_lane = self._key, self.is_secure, self._next_lane
        child._open_lane()
        return child

    def fresh_key(self) -> bytes:
        """A key for a stream in another process, which cannot share our lanes; never written anywhere."""
        return self.words(4).tobytes()

    def _open_lane(self) -> None:
        lane = self._next_lane[0]
        self._next_lane[0] += 1
        nonce = struct.pack("<IQI", 0, lane, 0)  # block counter, lane, unused
        self._cipher: CipherContext = Cipher(algorithms.ChaCha20(self._key, nonce), None).encryptor()
        self._left = _LANE_BYTES

    def fill(self, words: Words) -> None:
        """Overwrite ``words`` with fresh ones."""
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


@kernel
def _below_each(bounds: Words, words: Words, out: Words, start: int) -> tuple[int, int]:
    """Lemire's multiply-and-reject: high half of word x bound, redrawn in the biased sliver."""
    position = 0
    for item in range(start, len(bounds)):
        bound = bounds[item]
        threshold = (np.uint64(0) - bound) % bound
        first = position
        while True:
            if position == len(words):
                return item, first
            high, low = high_low_product(words[position], bound)
            position += 1
            if low >= threshold:
                out[item] = high
                break
    return len(bounds), position
