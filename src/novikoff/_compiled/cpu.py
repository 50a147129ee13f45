"""CPU levels: which compiled code this processor can run.

The levels are those of the x86-64 psABI, and one more for processors that have the byte permutations of AVX-512
(VBMI and VBMI2), with which numbers are parsed faster. All levels give the same results, to the last bit.
NOVIKOFF_CPU_LEVEL forces one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import NamedTuple

SSE_STATE, AVX512_STATE = 0b110, 0b1110_0110
"""Registers that the operating system must keep for each thread: bits of XCR0."""


class Level(NamedTuple):
    cpu: str
    """LLVM's name."""
    features: tuple[str, ...]
    """LLVM's names of what it has beyond x86-64."""
    tuning: tuple[str, ...] = ()
    """Options of LLVM that change the speed of the code and nothing else."""


_V2 = ("sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16", "sahf")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
LEVELS = {
    "v2": Level("x86-64-v2", _V2),
    "v3": Level("x86-64-v3", _V3),
    "v4": Level("x86-64-v4", _V4),
    # Processors with VBMI run vectors of 512 bits at full clock speed: 1.02-1.03 x for Auto, averages and many classes.
    "v4-vbmi": Level("x86-64-v4", (*_V4, "avx512vbmi", "avx512vbmi2"), ("-prefer-256-bit",)),
}
"""From the least to the most."""

EAX, EBX, ECX, EDX = range(4)
EXTENDED_LEAF = 0x80000001
CPUID_BITS = {
    "sse3": (1, ECX, 0),
    "ssse3": (1, ECX, 9),
    "fma": (1, ECX, 12),
    "cx16": (1, ECX, 13),
    "sse4.1": (1, ECX, 19),
    "sse4.2": (1, ECX, 20),
    "movbe": (1, ECX, 22),
    "popcnt": (1, ECX, 23),
    "osxsave": (1, ECX, 27),
    "avx": (1, ECX, 28),
    "f16c": (1, ECX, 29),
    "bmi": (7, EBX, 3),
    "avx2": (7, EBX, 5),
    "bmi2": (7, EBX, 8),
    "avx512f": (7, EBX, 16),
    "avx512dq": (7, EBX, 17),
    "avx512cd": (7, EBX, 28),
    "avx512bw": (7, EBX, 30),
    "avx512vl": (7, EBX, 31),
    "avx512vbmi": (7, ECX, 1),
    "avx512vbmi2": (7, ECX, 6),
    "sahf": (EXTENDED_LEAF, ECX, 0),
    "lzcnt": (EXTENDED_LEAF, ECX, 5),
}
"""Where the CPUID instruction says so: leaf, register, bit."""

Cpuid = Callable[[int], tuple[int, int, int, int]]


def detect_level(library: ctypes.CDLL) -> str | None:
    """Return the highest level of this processor; None where it is below all of them."""

    def cpuid(leaf: int) -> tuple[int, int, int, int]:
        out = (ctypes.c_uint32 * 4)()
        library.novikoff_cpuid(ctypes.c_uint32(leaf), out)
        return out[0], out[1], out[2], out[3]

    def xgetbv() -> int:
        out = (ctypes.c_uint32 * 2)()
        library.novikoff_xgetbv(out)
        return out[0]

    return highest_level(cpuid, xgetbv)


def highest_level(cpuid: Cpuid, xgetbv: Callable[[], int]) -> str | None:
    """Return the highest level of a processor with these CPUID answers."""
    answers = {
        leaf: cpuid(leaf) if leaf <= cpuid(leaf & EXTENDED_LEAF & ~1)[EAX] else (0,) * 4
        for leaf in (1, 7, EXTENDED_LEAF)
    }

    def has(feature: str) -> bool:
        leaf, register, bit = CPUID_BITS[feature]
        return bool(answers[leaf][register] >> bit & 1)

    state = xgetbv() if has("osxsave") else 0
    found = None
    for name, level in LEVELS.items():
        needed = AVX512_STATE if "avx512f" in level.features else SSE_STATE if "avx" in level.features else 0
        if all(map(has, level.features)) and state & needed == needed:
            found = name
    return found
