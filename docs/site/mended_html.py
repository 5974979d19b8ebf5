"""What the theme and Python-Markdown leave out for people who hear a page or use the keyboard; formulas as MathML."""

import re

NAVIGATION = re.compile(
    r'aria-labelledby="__nav_[\d_]+_label"(?P<rest>[^>]*>\s*<label class="md-nav__title"[^>]*>\s*<span[^>]*></span>)'
    r"(?P<title>[^<]+)"
)
NO_HEADINGS = re.compile(r"<thead>\s*<tr>\s*(?:<th[^>]*></th>\s*)+</tr>\s*</thead>\s*")
NO_HEADING = re.compile(r"<th([^>]*)></th>")
FORMULA = re.compile(r"^\$\$(?P<latex>.+)\$\$$")


def mended_page(html: str) -> str:
    """A page of the theme in which the search and every list of links have names."""
    html = html.replace('role="dialog"', 'role="dialog" aria-label="Search"')
    return NAVIGATION.sub(lambda found: f'aria-label="{found["title"].strip()}"{found["rest"]}{found["title"]}', html)


def mended_content(html: str) -> str:
    """Tables without empty headings: an empty one says nothing to somebody who hears it."""
    return NO_HEADING.sub(r"<td\1></td>", NO_HEADINGS.sub("", html))


def mathml(line: str) -> str:
    """A line `$$...$$` (GitHub reads it too) as MathML, made here so that a page needs no script; other lines as is."""
    formula = FORMULA.match(line)
    if not formula:
        return line
    from latex2mathml.converter import convert

    return f'<div class="formula" markdown="0">{convert(formula["latex"], display="block")}</div>'
