"""Numbers of sampled examples: all of the first ones, then one of each stratum of a stream.

Whether an example is sampled depends on its number t in the run alone, so that every way to give the same examples to a
learner samples the same ones. All of the first `full` examples are sampled. After that the examples between full·2^k
and full·2^(k+1) are cut into `strata` strata of equal size, and later ones into strata of `largest` examples. One
example of each stratum is sampled. Its place in the stratum follows the golden ratio, which keeps step with no period
of the data. `full`, `strata` and `largest` are powers of 2.
"""

from __future__ import annotations

from novikoff._compiled.jit import compiled

GOLDEN, WORD_MASK = 2654435761, 0xFFFFFFFF
NEVER_SAMPLED = 2**62
"""The number of an example that is never reached."""


@compiled
def next_sampled_example(t: int, full: int, strata: int, largest: int) -> int:
    """Return the number of the first sampled example after example t."""
    if t < full:
        return t + 1
    octave, start, size = 0, full, full // strata
    while size < largest and 2 * start <= t:
        octave, start, size = octave + 1, 2 * start, 2 * size
    stratum = (t - start) // size
    while True:  # that of this stratum, or else of the next
        share = (((octave * strata + stratum) * GOLDEN) & WORD_MASK) / (WORD_MASK + 1.0)  # of the stratum, in [0, 1)
        found = start + stratum * size + 1 + int(share * size)
        if found > t:
            return found
        stratum += 1
        if stratum == strata and size < largest:
            octave, start, size, stratum = octave + 1, 2 * start, 2 * size, 0
