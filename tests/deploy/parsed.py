"""The Containerfile and the Compose file, parsed."""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """One line of a Containerfile, continued lines joined."""

    name: str
    words: str

    @property
    def listed(self) -> list[str]:
        """The words of the exec form."""
        return json.loads(self.words)


def instructions() -> list[Instruction]:
    text = "\n".join(
        line for line in (DEPLOY / "Containerfile").read_text().splitlines() if not line.lstrip().startswith("#")
    )
    lines = [line.strip() for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip()]
    return [Instruction(name=line.split(None, 1)[0], words=line.split(None, 1)[1].strip()) for line in lines]


def last_stage() -> list[Instruction]:
    """What becomes the image."""
    found = instructions()
    start = max(place for place, each in enumerate(found) if each.name == "FROM")
    return found[start:]


def only(name: str) -> Instruction:
    """The one instruction of this name in the last stage."""
    (found,) = [each for each in last_stage() if each.name == name]
    return found


def health_command() -> list[str]:
    """What the image runs to ask after the health of its service."""
    words = only("HEALTHCHECK").words
    return json.loads(words[words.index("CMD") + 3 :])


def environment() -> dict[str, str]:
    """What the image sets."""
    pairs = [word.partition("=") for each in last_stage() if each.name == "ENV" for word in shlex.split(each.words)]
    return {name: value for name, _, value in pairs}


def compose() -> dict[str, Any]:
    """The Compose file, anchors merged."""
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())
