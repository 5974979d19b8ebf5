"""Facts and arrays of a page in one compressed piece of text, which its script unpacks."""

import base64
import json
import zlib
from typing import Any

import numpy as np


class Pack:
    """Collects arrays under names; each is stored in the smallest kind of number that holds it."""

    def __init__(self) -> None:
        self.arrays: list[dict[str, Any]] = []
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, name: str, values: Any) -> str:
        """Keep an array and say the name back."""
        array = _smallest(np.asarray(values).reshape(-1))
        content = array.astype(array.dtype.newbyteorder("<")).tobytes()
        content += bytes(-len(content) % 8)  # a typed array begins at a multiple of its width
        self.arrays.append({"name": name, "kind": _KINDS[array.dtype.name], "at": self._size, "length": len(array)})
        self._parts.append(content)
        self._size += len(content)
        return name

    def text(self, facts: dict[str, Any]) -> str:
        """Everything: the length of the facts, the facts as JSON, and the arrays; deflated, in base64."""
        head = json.dumps({**facts, "arrays": self.arrays}, separators=(",", ":"), allow_nan=False).encode()
        head += b" " * (-len(head) % 8)
        whole = b"".join([len(head).to_bytes(8, "little"), head, *self._parts])
        return base64.b64encode(zlib.compress(whole, 9)).decode()


_KINDS = {
    "uint8": "Uint8Array",
    "uint16": "Uint16Array",
    "uint32": "Uint32Array",
    "int32": "Int32Array",
    "float32": "Float32Array",
}


def _smallest(array: Any) -> Any:
    """The array in the smallest kind of number that holds it.

    >>> [_smallest(np.array(values)).dtype.name for values in ([0, 300], [-1, 2], [0.5])]
    ['uint16', 'int32', 'float32']
    """
    if array.dtype.kind == "f":
        return array.astype(np.float32)
    low, high = (int(array.min()), int(array.max())) if len(array) else (0, 0)
    if low < 0:
        return array.astype(np.int32)
    return array.astype(np.uint8 if high < 1 << 8 else np.uint16 if high < 1 << 16 else np.uint32)
