"""Ways to damage a file: blindly, or knowing what it is made of, which comes deeper into its reader."""

import io
import json
import random
import zipfile
from collections.abc import Callable
from copy import deepcopy

Mutation = Callable[[bytes, random.Random], bytes]

VALUES = (
    None, True, False, 0, -1, 1, 2, 3, 99, 2**31, 10**30, 0.5, -0.0, 1e308, "", "x", "1/0", "1e999", "é\u202e\x1b[31m",
    "sha256:00", "other", [], [[]], {}, {"": ""}, [None], ["a", "a"], {"format": 99}, [1, "a", None], "a" * 2000,
    float("inf"), float("nan"), -10**400, 5e-324, "\ud800", "a\x00b", "../../x", "/dev/zero", "-1/3",
)  # fmt: skip
WORDS = (
    "0", "-1", "1", "99", "1e400", "inf", "nan", "true", '""', '"x"', "[]", "{}", "[[]]", "[1, 2]", '["a", "a"]',
    '"2020-02-30"', "2020-01-01", "1979-05-27T07:32:00Z", "07:32:00", "{a = 1}", '["x"', '"""', "0x10", '"\\u001b[2J"',
    "1_000", "9" * 400, "1." + "0" * 400 + "1", "[" * 200, '"1/0"', "{ of = 1 }", "[[1, 2], [3]]", "[true, 1, 'a']",
    "5e-324", "-inf", '"a\\u0000b"', '"../../x"', '"/dev/zero"', '"-1/3"', "1e308", "9999-12-31",
)  # fmt: skip


def of_bytes(content: bytes, rng: random.Random) -> bytes:
    """Flip, cut, double, insert, overwrite: as a bad disk or a broken copy would."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        place = rng.randrange(len(data) + 1)
        size = rng.choice((1, 2, 4, 16, 100))
        kind = rng.randrange(7)
        if kind == 0 and data:
            data[place % len(data)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[place:]
        elif kind == 2:
            del data[place : place + size]
        elif kind == 3:
            data[place:place] = data[place : place + size]
        elif kind == 4:
            data[place:place] = rng.randbytes(size)
        elif kind == 5:
            data[place : place + size] = rng.choice((b"\x00", b"\xff", b"\x7f", b"\x80")) * size
        else:
            other = rng.randrange(len(data) + 1)
            data[place : place + size] = data[other : other + size]
    return bytes(data)


def of_lines(content: bytes, rng: random.Random) -> bytes:
    """For texts of lines: drop, double, exchange, and put other words behind an equals sign or a comma."""
    lines = content.decode("utf-8", errors="surrogateescape").split("\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        place, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        kind = rng.randrange(6)
        if kind == 0 and len(lines) > 1:
            del lines[place]
        elif kind == 1:
            lines.insert(place, lines[other])
        elif kind == 2:
            lines[place], lines[other] = lines[other], lines[place]
        elif kind == 3 and "=" in lines[place]:
            lines[place] = f"{lines[place].partition('=')[0]}= {rng.choice(WORDS)}"
        elif kind == 4 and "=" in lines[place]:
            key, _, value = lines[place].partition("=")
            lines[place] = f"{rng.choice((key[:-2], key + 'x', lines[other].partition('=')[0]))}={value}"
        else:
            cells = lines[place].split(",")
            cells[rng.randrange(len(cells))] = rng.choice(WORDS)
            lines[place] = ",".join(cells)
    return "\n".join(lines).encode("utf-8", errors="surrogateescape")


def _places(node: object) -> list[tuple[object, object]]:
    found: list[tuple[object, object]] = []
    stack = [node]
    while stack:
        one = stack.pop()
        pairs = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        for key, inner in list(pairs):
            found.append((one, key))
            stack.append(inner)
    return found


def change(document: object, rng: random.Random) -> object:
    """A JSON document with a few values exchanged, dropped or of another kind."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = _places(document)
        if not places:
            return deepcopy(rng.choice(VALUES))
        holder, key = rng.choice(places)
        kind = rng.randrange(5)
        if kind == 0:
            del holder[key]
        elif kind == 1:
            other, name = rng.choice(places)
            if (isinstance(other, dict) and name in other) or (isinstance(other, list) and name < len(other)):
                holder[key] = json.loads(json.dumps(other[name]))
        elif kind == 2 and isinstance(holder, dict):
            holder[f"{key}x"] = holder.pop(key)
        elif kind == 3 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
            holder[key] = rng.choice((holder[key] + 1, -holder[key], holder[key] * 1000, 0, str(holder[key])))
        else:
            holder[key] = deepcopy(rng.choice(VALUES))
    return document


def of_json(content: bytes, rng: random.Random) -> bytes:
    """JSON that is still JSON, most of the time."""
    changed = json.dumps(change(json.loads(content), rng), ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.03:
        changed = "[" * 100_000 + changed
    return changed.encode("utf-8", "surrogatepass")


def of_zip(content: bytes, rng: random.Random) -> bytes:
    """An archive with one member damaged, dropped, doubled or renamed."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    place = rng.randrange(len(members))
    name, inside = members[place]
    kind = rng.randrange(10)
    if kind == 0:
        del members[place]
    elif kind == 1:
        members[place] = (members[rng.randrange(len(members))][0] + "x", inside)
    elif kind == 2:
        members[place] = (name, members[rng.randrange(len(members))][1])
    else:
        members[place] = (name, by_name(name)(inside, rng))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, inner in dict(members).items():
            archive.writestr(one, inner)
    return packed.getvalue()


def by_name(name: str) -> Mutation:
    """What fits a member of an archive."""
    return {"json": of_json, "toml": of_lines, "csv": of_lines}.get(name.rpartition(".")[2], of_bytes)


def mixed(*knowing: Mutation) -> Mutation:
    """Blind damage a third of the time, else one that knows the form."""

    def mutate(content: bytes, rng: random.Random) -> bytes:
        return (of_bytes if rng.random() < 1 / 3 else rng.choice(knowing))(content, rng)

    return mutate
