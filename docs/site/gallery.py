"""The pictures on the home page and in guides: the pages of ours that they show, and the commands that make these."""

import html
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "assets" / "gallery"
MARK = "<!-- gallery -->"

TABLE = "example/patients.csv -c example/patients.toml"
PRICE = "--epsilon 1 --delta 1e-6"


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One page, as a screen of it looks."""

    name: str
    title: str
    caption: str
    page: str
    """Where the commands leave it."""
    commands: tuple[str, ...]
    guide: str
    """Where the commands are explained."""
    public: bool
    link: str = ""
    """What stands behind the page's address: a link to something in it."""
    home: bool = True
    """Whether the home page shows it; a guide may show the others."""

    @property
    def file(self) -> Path:
        """The picture."""
        return FOLDER / f"{self.name}.png"


PICTURES = (
    Picture(
        name="release",
        title="The page of a release",
        caption="What was promised, in odds and words, and what the file is good for. Made from the release alone.",
        page="release/index.html",
        commands=(f"synth {TABLE} {PRICE} -n 5000 -o release",),
        guide="start/steward.md",
        public=True,
    ),
    Picture(
        name="report",
        title="The report for the board",
        caption="Promise, uses and attacks, computed on the confidential table and on people who were held out.",
        page="report.html",
        commands=(
            "evaluate example/patients.csv release -c example/patients.toml --holdout example/held-out.csv "
            "--target charge -o report.html",
        ),
        guide="guide/evaluate.md",
        public=False,
    ),
    Picture(
        name="map",
        title="Risk against utility",
        caption="Methods at several prices, tried on a public stand-in before anything is paid.",
        page="map/map.html",
        commands=(
            f"rumap {TABLE} --stand-in example/held-out.csv --methods marginals,sba --epsilons 0.5,2,8 --rows 500 "
            "--repeat 3 --delta 1e-6 --target charge -o map",
        ),
        guide="start/statistician.md",
        public=True,
    ),
    Picture(
        name="figures",
        title="Figures with intervals",
        caption="Estimates from a release whose intervals include the noise. Reads nothing but the release.",
        page="figures.html",
        commands=(
            'infer release --share sex=Female --mean los --by cat --logistic "sev > 1 ~ los + sex" -o figures.html',
        ),
        guide="methods/intervals.md",
        public=True,
    ),
    Picture(
        name="anonymity",
        title="An anonymised table",
        caption="What was made coarser, what it cost, which risk is left, and what else was tried.",
        page="anonymity.html",
        commands=(
            f"anonymize run {TABLE} --quasi sex,patzip,pay --k 5 --suppression 0.05 -o coarser --report anonymity.html",
        ),
        guide="guide/anonymize.md",
        public=False,
    ),
    Picture(
        name="averages",
        title="What averages give away",
        caption="A planned table of averages, attacked with every method before it is published.",
        page="averages.html",
        commands=(
            f"reconstruct risk {TABLE} --group patzip --group MDC --value charge --known los,sev --epsilons 1,10 "
            "-o averages.html",
        ),
        guide="start/aggregates.md",
        public=False,
    ),
    Picture(
        name="commutes",
        title="A map of commutes",
        caption="Where the workers of an area live, with an interval for each number. No street map is loaded.",
        page="commutes.html",
        commands=(
            "commute example --workers 20000 -o town",
            "commute synth town/flows.csv --count workers --places town/places.csv --epsilon 4.6 --delta 1e-6 "
            "-o commutes",
            'commute map commutes -o commutes.html --title "Commutes of a simulated town"',
        ),
        guide="guide/commute-map.md",
        public=True,
        link="#a=district:D22&tab=ranking&at=32768,32768,0.0095",
    ),
    *(
        Picture(
            name=f"commutes-{name}",
            title=title,
            caption="The page of the simulated town.",
            page="commutes.html",
            commands=(),
            guide="guide/commute-map.md",
            public=True,
            link=link,
            home=False,
        )
        for name, title, link in (
            ("start", "Where the jobs are", ""),
            ("balance", "Two areas compared", "#a=district:D22&b=district:D20&tab=balance&at=32768,32768,0.0095"),
            ("distance", "Distance and direction", "#a=district:D22&tab=distance&unit=km&at=32768,32768,0.0095"),
            (
                "uncertain",
                "What is uncertain, hatched",
                "#a=district:D22&tab=ranking&by=place&areas=place&unsure=1&at=42000,20000,0.02",
            ),
        )
    ),
)
"""In the order of the home page. A later picture may use what an earlier one made."""


def gallery() -> str:
    """The pictures that there are, as HTML for the home page."""
    return (
        '<div class="gallery">\n'
        + "".join(_figure(one) for one in PICTURES if one.home and one.file.exists())
        + "</div>"
    )


def _figure(picture: Picture) -> str:
    command = picture.commands[-1].split(" ")[0]
    seen = "may be published" if picture.public else "stays with the data"
    place, title = f"assets/gallery/{picture.file.name}", html.escape(picture.title)
    return (
        f'<figure><a href="{place}"><img src="{place}" alt="{title}: its first screen" loading="lazy"></a>'
        f'<figcaption><a href="{picture.guide.removesuffix(".md")}.html">{title}</a> '
        f"(<code>{command}</code>; {seen}). {html.escape(picture.caption)}</figcaption></figure>\n"
    )
