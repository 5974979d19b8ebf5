"""One way to compile a hot loop, safe on a read-only installation.

Numba writes its cache beside the source or in the home folder; where neither can be written it raises while
the module is being imported. A release must still be possible there, only slower to start.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile ``function`` without the interpreter lock; cache the machine code if any folder allows it."""
    return _compiled(function, {"nogil": True, "boundscheck": False})


def inlined(function: F) -> F:
    """The same for a small function that only kernels call: its code is put in their place.

    Arrays are handed over by dozens of words each, which takes longer than what such a function does.
    """
    return _compiled(function, {"nogil": True, "boundscheck": False, "forceinline": True})


def _compiled(function: F, options: dict[str, bool]) -> F:
    try:
        return cast(F, numba.njit(cache=True, **options)(function))
    except RuntimeError:  # "cannot cache function ...: no locator available"
        return cast(F, numba.njit(cache=False, **options)(function))


@intrinsic  # type: ignore[untyped-decorator]
def _high_low_product(typing_context: Any, left: Any, right: Any) -> Any:
    """Both halves of a 64 x 64 bit product; NumPy has no 128-bit integer."""
    pair = types.UniTuple(types.uint64, 2)
    signature = pair(types.uint64, types.uint64)

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        from llvmlite import ir

        wide = ir.IntType(128)
        word = ir.IntType(64)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        high = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), word)
        low = builder.trunc(product, word)
        return context.make_tuple(builder, sig.return_type, (high, low))

    return signature, generate


high_low_product: Callable[[Any, Any], Any] = _high_low_product
