"""Small pieces of HTML. Whatever comes from a release is escaped here, and nowhere else."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources

from understudy.pages.numbers import plain
from understudy.pages.shell import page_style

_COMMAND = re.compile("`([^`]+)`")


def text(words: str) -> str:
    """Words of a release as people read them, escaped; what stands between backticks is a command.

    >>> text("`verify` <b>")
    '<code>verify</code> &lt;b&gt;'
    """
    return _COMMAND.sub(r"<code>\1</code>", escape(plain(words)))


def paragraph(words: str, *, style: str = "") -> str:
    """One paragraph."""
    return f"<p{_named(style)}>{text(words)}</p>"


def listed(lines: Iterable[str], *, style: str = "") -> str:
    """A list of sentences."""
    items = "".join(f"<li{_named(style)}>{text(line)}</li>" for line in lines)
    return f'<ul class="notes">{items}</ul>' if items else ""


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    """A table that scrolls on narrow screens; its cells are kept as they are, because levels may look like numbers.

    With ``numbers`` all columns but the first are set to the right.
    """

    def cells(values: Sequence[str], tag: str, scope: str) -> str:
        ends = [' class="n"' if numbers and place else "" for place in range(len(values))]
        return "".join(f"<{tag}{scope}{end}>{escape(value)}</{tag}>" for value, end in zip(values, ends, strict=True))

    head = cells(header, "th", ' scope="col"')
    body = "".join(f"<tr>{cells(row, 'td', '')}</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def section(key: str, title: str, *parts: str) -> str:
    """A part of the page with its heading."""
    return f'<section id="{key}"><h2>{text(title)}</h2>{"".join(parts)}</section>'


def document(title: str, sub: str, banner: str, sections: Sequence[tuple[str, str, str]]) -> str:
    """The whole page; each section has a key, a heading and its content. Its policy forbids to run or load anything."""
    links = "".join(f'<li><a href="#{key}">{text(name)}</a></li>' for key, name, _ in sections)
    warned = f'<aside class="banner" aria-label="Warning"><p>{text(banner)}</p></aside>' if banner else ""
    own = resources.files("understudy.release.face").joinpath("face.css").read_text(encoding="utf-8")
    main = "\n".join(section(*each) for each in sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n<style>{page_style(own)}</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#main">Skip to the release</a>\n{warned}'
        f'<header class="top"><div>\n<h1>{text(title)}</h1>\n<p class="sub">{text(sub)}</p>\n'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n</div></header>\n<main id="main">\n{main}\n</main>\n'
        "<footer><p>Made by Understudy from this release alone. It works offline: nothing is loaded, and no script "
        "runs.</p></footer>\n</body>\n</html>\n"
    )


def _named(style: str) -> str:
    return f' class="{style}"' if style else ""
