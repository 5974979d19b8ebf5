"""Which figures of the documentation are copies, page by page: what the page says, and what the record says."""

from decimal import Decimal

from copies import Copy

PERCENT, THOUSANDTHS = Decimal(100), Decimal("0.001")
SMALL, LARGE, HUGE = "10,000,000", "100,000,000", "1,000,000,000"


def cells(number: int, cell: str = "#") -> str:
    """The end of a line of a table."""
    return "".join(f" {cell} |" for _ in range(number))


def large_tables() -> list[Copy]:
    """Rates and ratios of large tables."""
    page = "docs/guide/scale.md"
    copies = []
    for what, done, doing in (("10 and 100 million", "drawn", "drawing"), ("in DuckDB", "counted", "counting")):
        seconds = [f"{SMALL} rows ... {done}: # s", f"{LARGE} rows ... {done}: # s"]
        memory = [f"{SMALL} rows ... {done}: ... peak # GiB", f"{LARGE} rows ... {done}: ... peak # GiB"]
        against = f"{doing}, large against small: #"
        copies += [
            Copy(page, [f"{what} | # s and # s"], "scale: memory", seconds),
            Copy(page, [f"{what} | ... peak", "# and # GiB, # times"], "scale: memory", [*memory, against]),
        ]
    for name, what, against in (
        ("postgres", "against its bare queries", "PostgreSQL against"),
        ("spark", "in Spark, local mode", "Spark against"),
    ):
        copies += [
            Copy(page, [f"{what} | # s against"], f"scale: {name}", ["ours # s"]),
            Copy(page, [f"{what} | ... against # s, # times"], f"scale: {name}", ["bare # s", f"{against} ...: #"]),
        ]
    drawn = f"{LARGE} rows ... drawn: ... peak # GiB"
    return [
        *copies,
        Copy(page, ["log-log slope # by the clock and by"], "scale: slopes", ["log-log slope by clock time: #"]),
        Copy(page, ["log-log slope # by the clock and by"], "scale: slopes", ["log-log slope by processor time: #"]),
        Copy(page, ["randomgen's ChaCha20 | # times"], "sweep", ["sweep against words: #"]),
        Copy(page, ["two threads against one, ... | # times"], "scale: threads", ["two threads against one: #"]),
        Copy(page, ["two processes against one, ... | # times"], "scale: processes", ["two processes against one: #"]),
        Copy(
            "docs/start/engineer.md",
            ["were drawn in # GiB of memory, # times"],
            "scale: memory",
            [drawn, "drawing, large against small: #"],
        ),
        Copy(
            "docs/guide/operations.md",
            ["counting 100 million rows takes # GiB"],
            "scale: memory",
            [f"{LARGE} rows ... counted: ... peak # GiB"],
        ),
    ]


def record() -> list[Copy]:
    """A billion rows on one machine."""
    page = "docs/guide/scale.md"
    stages = {
        "write the simulated table": "simulate",
        "count 91 tables": "count",
        "fit, with a second count for triples": "fit",
        "draw and write rows": "draw",
        "close: page and digests": "close",
        "verify every row": "verify",
        "count both tables again and compare": "compare",
    }
    copies = []
    for what, stage in stages.items():
        each = [line for rows in (SMALL, LARGE, HUGE) for line in (f"{rows} x 13:", f" {stage} # s of")]
        copies += [
            Copy(page, [f"| {what} | # s | # s | # s"], "record", each),
            Copy(page, [f"| {what} | ... | # | # |"], "record", [f"{stage}: memory # ... slope #"]),
        ]
    counting, drawing = "counting against decode-and-count #", "drawing against the compiled ... classes #"
    return [
        *copies,
        Copy(page, ["| count 91 tables ... # MiB"], "record", [f"{HUGE} x 13:", " count ... clock, # MiB"]),
        Copy(page, ["| draw and write rows ... # MiB"], "record", [f"{HUGE} x 13:", " draw ... clock, # MiB"]),
        Copy(page, ["Counting took # of the processor time of decoding"], "record", [f"{HUGE} x 13:", counting]),
        Copy(
            page,
            ["in a compiled loop (bar 1.8), and # at 10 million rows"],
            "record",
            [f"{SMALL} x 13:", counting],
        ),
        Copy(page, ["Drawing and writing took # times"], "record", [f"{HUGE} x 13:", drawing]),
        Copy(page, ["Table and release take # GiB"], "record", [f"{HUGE} x 13:", "at last: table # GiB"]),
        Copy(page, ["Table and release take # GiB"], "record", [f"{HUGE} x 13:", "release # GiB"]),
        Copy(page, ["against the table is #"], "record", [f"{HUGE} x 13:", "against the table #"]),
    ]


def plan_of_a_cluster() -> list[Copy]:
    """What the plan foresaw on Spark, and what was measured."""
    page, section = "docs/guide/spark.md", "spark-record"
    measured = "foreseen #, measured #, # times"
    steps = [f"of these {step} foreseen" for step in ("encode", "count", "draw")]
    million = Decimal("0.000001")
    return [
        Copy(page, ["| processor time (s) | # | # | # |"], section, [f"processor seconds {measured}"]),
        Copy(page, ["| of it: ... | #, #, # |"], section, [f"{step} #" for step in steps]),
        Copy(page, ["| of it: ... | ~ | #, #, # |"], section, [f"{step} ... measured #" for step in steps]),
        Copy(
            page, ["| of it: ... | ~ | ~ | #, #, # |"], section, [f"{step} ... measured ..., # times" for step in steps]
        ),
        Copy(page, ["| shuffled (MB) | # | # |"], section, ["shuffled bytes foreseen #, measured #"], million),
        Copy(page, ["| shuffled (MB) | ~ | ~ | # |"], section, ["shuffled bytes ... measured ..., # times"]),
        Copy(page, ["| partitions | # | # | # |"], section, [f"partitions {measured}"]),
        Copy(page, ["| joint tables | # | # | # |"], section, [f"joint tables {measured}"]),
        Copy(
            page, ["| codes on the workers (MB) | # | # |"], section, ["cached bytes foreseen #, measured #"], million
        ),
        Copy(page, ["| written (MB) | # | # |"], section, ["output bytes foreseen #, measured #"], million),
    ]


def peers() -> list[Copy]:
    """Other libraries on Adult and on the discharges, in one run."""
    page = "docs/guide/scale.md"
    names = {
        "dpmm 0.1.9, AIM, 26 rounds (1)": "dpmm_aim",
        "dpmm 0.1.9, MST (1)": "dpmm_mst",
        "OpenDP 0.16.0 with mbi 1.1.0, MST (2)": "opendp_mst",
        "smartnoise-synth 1.0.8, MST (2)": "smartnoise_mst",
        "DataSynthesizer 0.1.13, PrivBayes, 2 parents (1)": "datasynthesizer_privbayes",
        "SDV 2.0.0, Gaussian copula: no privacy (2)": "sdv_copula",
        "**Understudy `marginals`** (14)": "understudy_marginals",
        "the same, first run after installation, which compiles (8)": "understudy_marginals, first run",
    }
    copies = []
    for shown, name in names.items():
        bold = "**" if shown.startswith("**") else ""
        start = f"| {name} |{cells(2, '~')}"
        single = shown.endswith("(1)")
        seconds = "#" if single else "# to #"
        copies += [
            Copy(page, [f"| {shown} | {bold}# / # / #{bold} |"], "peers", [f"{start} # | # | # |"]),
            Copy(page, [f"| {shown} | ~ | {seconds} s |"], "peers", [f"{start}{cells(3, '~')} {seconds} |"]),
            Copy(
                page,
                [f"| {shown} | ~ | ~ | {seconds} s | # MB |"],
                "peers",
                [f"{start}{cells(5, '~')} {seconds} | # |"],
            ),
        ]
        if single:
            copies.append(
                Copy(page, [f"| {shown} |{cells(4, '~')} # / # |"], "peers", [f"{start}{cells(8, '~')} # | # |"])
            )
    discharges = "discharges, 40,000 rows"
    three = " | ~ | ~ | # | # | # |"
    return [
        *copies,
        Copy(
            page,
            ["mbi 1.1.0, AIM, ... not finished in # s | over # s"],
            "peers",
            ["opendp_aim ... not finished in # s (# s"],
        ),
        Copy(
            page,
            ["with a smaller two-way error than any, and # times"],
            "peers",
            ["most accurate private peer: ... at least # times"],
        ),
        Copy(
            page,
            ["Discharges, 40,000 rows of 13 columns: # / # / #"],
            "peers",
            [discharges, f"| understudy_marginals{three}"],
        ),
        Copy(page, ["smartnoise-synth's MST # / # / #"], "peers", [discharges, f"| smartnoise_mst{three}"]),
        Copy(page, ["/ .855, OpenDP's # / # / #"], "peers", [discharges, f"| opendp_mst{three}"]),
        Copy(page, [".894, # and"], "peers", [discharges, "smartnoise_mst: at least #"]),
        Copy(page, [".894, ... and # times slower"], "peers", [discharges, "opendp_mst: at least #"]),
    ]


def unseen() -> list[Copy]:
    """`marginals` on tables that it was not made on."""
    page = "docs/methods/marginals.md"
    tables = {
        "`nltcs`, 16 binary columns": "nltcs",
        "ACS excerpt, 20 columns": "acs",
        "`diabetes130`, 48 columns": "diabetes",
        "`fire`, 30 columns of up to 742 levels": "fire",
        "NHDS 2010, 20 columns": "nhds",
        "Adult, 13 columns": "adult",
    }
    copies = []
    for shown, name in tables.items():
        ours = [f"| {name} | ours | {epsilon} |{cells(2, '~')} # | # |" for epsilon in ("0.1", "1", "10")]
        alone = [
            f"| {name} | independent noisy columns | {epsilon} |{cells(2, '~')} # |" for epsilon in ("0.1", "1", "10")
        ]
        copies += [
            Copy(page, [f"| {shown} | # (#) | # (#) | # (#) |"], f"unseen: {name}", ours),
            Copy(page, [f"| {shown} |{cells(3, '~')} #, #, # |"], f"unseen: {name}", alone),
        ]
    for shown, name, said, epsilon in (
        ("ACS excerpt, 20", "acs", "# %,", "0.1"),
        ("`diabetes130`, 48", "diabetes", "# %,", "0.1"),
        ("`fire`, 30", "fire", "# %,", "0.1"),
        ("NHDS 2010, 20", "nhds", "0, # %,", "1"),
    ):
        worse = f"{name} {epsilon} share of pairs that are worse: #"
        copies.append(Copy(page, [f"| {shown} columns~|{cells(4, '~')} {said}"], f"unseen: {name}", [worse], PERCENT))
    aim = [f"| nltcs | AIM | {epsilon} |{cells(2, '~')} # | # |" for epsilon in ("0.1", "1", "10")]
    curve = [f"| fire | ours | {epsilon} |{cells(5, '~')} # |" for epsilon in ("0.1", "1", "10")]
    noise = ["| fire | ours | 0.1 | ~ | # |", "| fire | independent noisy columns | 0.1 | ~ | # |"]
    return [
        *copies,
        Copy(page, ["AIM, written from its paper, one run | # (#) | # (#) | # (#) |"], "unseen: nltcs", aim),
        Copy(page, ["area under the curve of #, # and #."], "unseen: fire", curve),
        Copy(page, ["noise of its one-way tables (# against #)"], "unseen: fire", noise),
        Copy(page, ["is still # times that of"], "unseen: fire", ["fire 0.1 two-way against ...: #"]),
        Copy(page, ["discharges take # times as long to fit"], "marginals", ["ratio #"]),
        Copy(
            page,
            ["100 columns of 10 levels # s to fit, # s to draw, # GiB"],
            "marginals",
            ["levels: fit # s, draw # s, peak # GiB"],
        ),
        Copy(page, ["500 columns ... and # GiB"], "speed", ["500 columns ... GiB #"]),
    ]


def scores() -> list[Copy]:
    """Private risk scores beside two peers."""
    page = "docs/methods/dpat.md"
    tables = {
        "**Pima**, 8 numbers": "pima, 768 rows",
        "**MIMIC-II**, 16 numbers": "mimic, 1,776 rows",
        "**Adult**, 5 numbers": "adult, 48,842 rows",
        "**Readmission of diabetics**, 9 numbers": "diabetes, 101,766 rows",
    }
    copies = []
    for shown, name in tables.items():
        start = f"| {shown}: `additive`, AUROC |"
        copies.append(Copy(page, [start + cells(6)], "scores", [name, "| understudy, AUROC |" + cells(6)]))
        lines = {
            "| DP-EBM |": "| interpret-core, AUROC |",
            "| diffprivlib |": "| diffprivlib, AUROC |",
            "| `additive`, Brier score |": "| understudy, Brier |",
            "| DP-EBM, Brier score |": "| interpret-core, Brier |",
        }
        copies += [
            Copy(page, [start, ours + cells(6)], "scores", [name, theirs + cells(6)]) for ours, theirs in lines.items()
        ]
        ahead = cells(6, "# ± #")
        recorded = "| ahead of interpret-core, AUROC on ... both |" + ahead
        copies.append(Copy(page, [start, "| ahead of DP-EBM |" + ahead], "scores", [name, recorded]))
    return copies


def linked_tables() -> list[Copy]:
    """People with histories: error, size, peers."""
    page = "docs/methods/histories.md"
    copies = []
    for epsilon in ("1", "10"):
        ours = [f"epsilon {epsilon}, understudy_histories: {{}}"] * 2
        joined = [f"epsilon {epsilon}, understudy_marginals_joined: {{}}"] * 2
        row = f"| {epsilon} |"
        for cell, lines, figure in (
            (0, ours, "pairs across tables #"),
            (1, joined, "pairs across tables #"),
            (2, ours, "... encounters # points"),
            (3, ours, "... area #"),
            (4, joined, "... area #"),
        ):
            copies.append(
                Copy(
                    page,
                    ["| epsilon | pairs, histories |", f"{row}{cells(cell, '~')} #, # |"],
                    "histories: diabetes",
                    [line.format(figure) for line in lines],
                )
            )
    for patients in ("100,000", "300,000", "1,000,000"):
        recorded = f"{patients} patients, # stays: ... processor # s, ... of all # GiB"
        copies.append(Copy(page, [f"| {patients} | # | # s | # GiB |"], "histories: size", [recorded]))
    for shown, name in (
        ("histories", "understudy_histories"),
        ("marginals on the joined table", "understudy_marginals_joined"),
        ("DPSynth", "dpsynth_relational"),
        ("SDV HMA", "sdv_hma"),
    ):
        recorded = f"epsilon 1, {name}: pairs across tables #, numbers of encounters # points, ... processor # s"
        copies.append(Copy(page, [f"| {shown} | # | # points | # s |"], "histories: peers", [recorded]))
    later = "epsilon 1, weight (kept): pairs across tables #, #, #; ... area #, #, #;"
    joined = "marginals_joined: pairs across tables #, #, #, #; numbers of encounters 23.60"
    return [
        *copies,
        Copy(page, ["further runs at epsilon 1 (#, #, #; area #, #, #)"], "histories: diabetes", [later]),
        Copy(page, ["of the joined table (#, #, #, #) have"], "histories: diabetes", [joined]),
        Copy(
            page,
            ["have # of the 88 pairs", "gender and glyburide (# times)"],
            "histories: diabetes",
            ["weight (kept): # of 88 pairs ... x encounters.glyburide, # times"],
        ),
        Copy(
            page,
            ["to the power of #, and memory # times"],
            "histories: size",
            ["to the power of # ...; # times the memory"],
        ),
    ]


def densities() -> list[Copy]:
    """Means and deviations of numbers in bins: the second of two runs."""
    page = "docs/guide/numbers.md"
    kinds = {
        "log-normal, σ = 1": "log-normal, sigma 1",
        "log-normal, σ = 1.5": "log-normal, sigma 1.5",
        "60 % zeros, else log-normal": "60 % zeros",
        "half zeros, 15 % losses": "with losses",
        "Pareto, α = 2.5, from 5000": "Pareto, from 5000",
        "normal": "normal",
    }
    copies = []
    for shown, name in kinds.items():
        smooth = [
            line
            for epsilon in ("10", "1", "0.1")
            for line in (f"epsilon {epsilon}: mean", f" {name} uniform ... smooth ... medians #% #%")
        ]
        copies += [
            Copy(page, [f"| {shown} | ... (# %, # %) | ... (# %, # %) | ... (# %, # %) |"], "numbers", smooth),
            Copy(
                page,
                [f"| {shown} |{cells(3, '~')} ... (# %, # %) |"],
                "numbers",
                [f" {name} uniform ... medians #% #%"],
            ),
        ]
    return copies


def screens_and_answers() -> list[Copy]:
    """The studio, answers on the real rows, the forecast, and a free score."""
    studio, answers, forecast = "docs/guide/studio.md", "docs/guide/answers.md", "docs/guide/forecast.md"
    covered = {
        "mean of charge by sex": "#, #",
        "share of died=yes by sex": "#, #",
        "difference of mean of charge by sex": "#",
        "median of charge": "#",
        "linear charge ~ age + sex": "#, #, #",
        "logistic died == 'yes' ~ age + sex": "#, #, #",
    }
    return [
        *(
            Copy(answers, [f"| `{asked}` | {each} |"], "answers", [f"{asked}: 1,000 tables ... covers ... ({each})"])
            for asked, each in covered.items()
        ),
        Copy(studio, ["and # ms for the price"], "studio", ["slowest screen # ms"]),
        Copy(studio, ["The process used # MB"], "studio", ["memory # MB"]),
        Copy(forecast, ["the range holds in # % of # cases"], "forecast", ["the range holds in #% of # cases"]),
        Copy(forecast, ["it holds in # % (with"], "forecast", ["without the table itself it holds in #%"]),
        Copy(forecast, ["Its upper end is # times"], "forecast", ["the range is # times"]),
        Copy(forecast, ["all # forecasts at epsilon 1 are within"], "forecast", ["% of # forecasts are within 25%"]),
        Copy(forecast, ["epsilon 1 are within # % of"], "forecast", ["the worst is off by #%"]),
    ]


COPIES = [
    *large_tables(),
    *record(),
    *plan_of_a_cluster(),
    *peers(),
    *unseen(),
    *scores(),
    *linked_tables(),
    *densities(),
    *screens_and_answers(),
]
