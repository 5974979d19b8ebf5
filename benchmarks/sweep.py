"""One Gibbs sweep of 1,000,000 x 13, random words included, against drawing as many words with randomgen's ChaCha20.

Bar: at most 1.5 times. Rounds of the two are interleaved and the medians compared.
"""

import statistics
import time

import numpy as np
from randomgen import ChaCha

import understudy as us
from understudy.mechanisms.stream import Stream
from understudy.samplers.gibbs import ConditionalSampler

ROWS, ROUNDS, BAR = 1_000_000, 7, 1.5


def fitted_sampler() -> tuple[ConditionalSampler, us.Codebook]:
    book = us.datasets.discharges_codebook()
    source = us.open(us.datasets.discharges(rows=50_000, seed=1), book)
    blocks = us.PeGS(alpha=1.0).fit(source).blocks
    return ConditionalSampler(book, blocks.keys, [table.open() for table in blocks.tables]), book


def uniform_seeds(book: us.Codebook, rows: int, stream: Stream) -> list[np.ndarray]:
    return [stream.below_each(np.full(rows, size, dtype=np.uint64)).astype(np.uint8) for size in book.sizes]


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    sampler, book = fitted_sampler()
    stream = Stream.from_system()
    seeds = uniform_seeds(book, ROWS, stream)
    rival = ChaCha(key=1, rounds=20)
    words = ROWS * len(book.names)

    def one_thread() -> None:
        sampler.sweep(seeds, sweeps=1, stream=stream, threads=1)

    def two_threads() -> None:
        sampler.sweep(seeds, sweeps=1, stream=stream, threads=2)

    def reset() -> None:
        sampler.sweep_with_reset([seed[: ROWS // 10] for seed in seeds], block_size=10, stream=stream, threads=1)

    def only_words() -> None:
        rival.random_raw(words)

    for warm in (one_thread, reset, only_words):
        warm()
    works = (one_thread, two_threads, reset, only_words)
    times = {work.__name__: [] for work in works}
    for _ in range(ROUNDS):
        for work in works:
            times[work.__name__].append(seconds(work))
    median = {name: statistics.median(values) for name, values in times.items()}
    base = median["only_words"]
    print(f"{words:,} words by randomgen ChaCha20, one thread: {base:.3f} s")
    for name in ("one_thread", "two_threads", "reset"):
        rate = ROWS / median[name] / 1e6
        print(f"{name:>12}: {median[name]:.3f} s, ratio {median[name] / base:.2f}, {rate:.1f} M rows/s")
    ratio = median["one_thread"] / base
    print(f"sweep against words: {ratio:.2f} (bar {BAR}): {'met' if ratio <= BAR else 'MISSED'}")


if __name__ == "__main__":
    main()
