"""Small files that the studio writes for itself: JSON, with a digest of what it says and of the name of its file.

One that is damaged, has the name of another file or another format counts as empty, so that no screen has to
doubt the shape of what it reads. The digest is no seal: whoever may write in the folder can make one.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from understudy.files import Access, refuse_special, write_file

FORMAT = 1
"""Of everything that is kept so: raised where one of these files comes to hold something else."""
_WRITTEN = re.compile(r'\{"digest": "([0-9a-f]{64})", "content": (.*)\}\n', re.DOTALL)


def keep(place: Path, content: Any) -> None:
    """Write it so that it appears at once, for its owner."""
    text = json.dumps(content, default=list)  # in ASCII, which spells halves of characters too
    write_file(place, f'{{"digest": "{_digest(place, text)}", "content": {text}}}\n', Access.OWNER)


def kept(place: Path) -> dict[str, Any]:
    """What was kept; empty where it is not there, or not as it was written."""
    try:
        refuse_special(place, follow=True)  # a pipe would be waited for
        written = _WRITTEN.fullmatch(place.read_text(encoding="utf-8"))
        content = json.loads(written[2]) if written and written[1] == _digest(place, written[2]) else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _digest(place: Path, text: str) -> str:
    return hashlib.sha256(f"{FORMAT} {place.name}\n{text}".encode()).hexdigest()
