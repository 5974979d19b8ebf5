"""Start the service: models, database, caps, addresses, then the web server."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import BudgetError, ParameterError
from understudy.parameters import Declared, OneOf, Panel, Text, Whole, option
from understudy.service.amounts import cap_of, epsilon_of
from understudy.service.logs import LEVELS

if TYPE_CHECKING:
    from fastapi import FastAPI

    from understudy.service.data_sets import DataSet
    from understudy.service.desk import Desk
    from understudy.service.proxy import Proxy
    from understudy.service.served import Served
    from understudy.service.store import Store
    from understudy.trees.model import ScoreModel

_FILE = Text(words="a path", example="server.pem", admitted=lambda path: isinstance(path, Path))


@dataclass(frozen=True, kw_only=True)
class Settings(Declared):
    """Where and how to listen."""

    host: str = option("127.0.0.1", rule=Text(words="an address"), help="Address to listen on.", panel=Panel.INPUT)
    port: int = option(
        8000,
        rule=Whole(least=0, most=65535, tried=8000),
        help="Port to listen on; 0 for any free one.",
        panel=Panel.INPUT,
    )
    aliases: Mapping[str, str] = field(default_factory=dict)
    certificate: Path | None = option(None, rule=_FILE, help="TLS certificate chain (PEM).", panel=Panel.INPUT)
    certificate_key: Path | None = option(
        None, rule=_FILE, help="Private key of the certificate (PEM).", panel=Panel.INPUT
    )
    log_level: str = option(
        "info",
        rule=OneOf.of(LEVELS),
        help="Least level of log lines on standard error: info (every request), warning or error.",
        panel=Panel.INPUT,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.certificate is None) != (self.certificate_key is None):
            raise ParameterError("a certificate and its key belong together; name both files, or neither.")
        for path in (self.certificate, self.certificate_key):
            if path is not None and not path.is_file():
                raise ParameterError(f"there is no file {str(path)!r}; check the path of the certificate and its key.")
        if self.certificate is not None and self.certificate_key is not None:
            _check_certificate(self.certificate, self.certificate_key)

    @property
    def is_exposed(self) -> bool:
        """Whether keys and features would cross a network in the clear."""
        return self.certificate is None and self.host not in ("127.0.0.1", "::1", "localhost")


def _check_certificate(certificate: Path, key: Path) -> None:
    """Find out before anything is opened whether the two can be used."""
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError) as reason:  # ssl.SSLError is an OSError
        raise ParameterError(
            f"the certificate {str(certificate)!r} and the key {str(key)!r} cannot be used "
            f"({getattr(reason, 'reason', None) or 'not PEM'}); give a PEM certificate chain and its own PEM key, "
            "without a passphrase."
        ) from None


def set_caps(store: "Store", models: "Mapping[str, Served]", caps: Mapping[str, float]) -> None:
    """Caps given at the start: set where there is none yet, and otherwise the same as before."""
    from understudy.service.budgets import Budgets

    budgets = Budgets(store)
    for name, epsilon in caps.items():
        served = models.get(name)
        if served is None or not served.costs or served.model.price_per_call is None:
            costly = [model.name for model in models.values() if model.costs]
            raise ParameterError(
                f"`budget` names {name[:80]!r}; caps are for per-call models, here: {', '.join(costly) or 'none'}."
            )
        budgets.register(served.model_id, name=served.name, price=served.model.price_per_call)
        _, balance = budgets.model_balances()[served.model_id]
        if balance is None:
            budgets.set_cap(served.model_id, epsilon)
        elif balance.cap != cap_of(epsilon):
            raise BudgetError(
                f"the model {name!r} has a cap of epsilon {epsilon_of(balance.cap):g} already, of which "
                f"{epsilon_of(balance.spent):g} is spent; starting with {epsilon:g} does not change it. Leave --budget "
                f"out, or change the cap with `understudy keys budget --model FILE --epsilon {epsilon:g} --account "
                "ACCOUNT` (without --account where no account has paid for it)."
            )


def build(
    models: "Sequence[ScoreModel]",
    store: "Store",
    *,
    caps: Mapping[str, float],
    aliases: Mapping[str, str],
    without_promise: bool = False,
    data: "Mapping[str, DataSet] | None" = None,
    proxy: "Proxy | None" = None,
) -> "FastAPI":
    """The application, checked: every per-call model and every data set has its cap."""
    from understudy.service.app import create_app
    from understudy.service.desk import Desk
    from understudy.service.served import by_name

    served = by_name(models, without_promise=without_promise)
    if not served and not data:
        raise ParameterError("there is no model to serve, and no data set; name a model file, or a file of data sets.")
    set_caps(store, served, caps)
    desk = Desk(store=store, models=served, data=data, proxy=proxy)
    _warm_up(desk)
    return create_app(desk, aliases=aliases)


def _warm_up(desk: "Desk") -> None:
    """Let compilers and caches do their work before the first caller waits for it; nobody's counts are touched."""
    from understudy.mechanisms.stream import Stream
    from understudy.service.served import Served
    from understudy.trees.examples import septic_shock_example

    for served in desk.models.values():
        codes = served.encode(served.example)
        if not served.costs:
            served.model.score(codes)
    if any(served.costs for served in desk.models.values()):
        invented = Served(model=septic_shock_example())  # a real per-call model must not be asked without paying
        invented.model.noisy_score(invented.encode(invented.example), Stream.from_system())
    if desk.answers is not None:
        _warm_up_answers()


def _warm_up_answers() -> None:
    """The same for answers, on a table of two invented records."""
    import pyarrow as pa

    from understudy.answers import parse_question, plan_answer
    from understudy.codebook import Categorical, Codebook
    from understudy.mechanisms.stream import Stream

    book = Codebook(columns=(Categorical(name="x", levels=("a", "b")),))
    plan = plan_answer(parse_question("count by x", book), book, epsilon=1.0)
    plan.draw(plan.open(pa.table({"x": ["a", "b"]})), Stream.from_system())


@contextlib.contextmanager
def example_service(*, rate: int = 600) -> "Iterator[tuple[FastAPI, str]]":
    """The dissertation's two services over invented models, in a temporary database; and a key."""
    from understudy.service.store import Store
    from understudy.trees.examples import diabetes_example, septic_shock_example

    sepsis = septic_shock_example()
    aliases = {"/diabeteScore": "diabetes", "/septicShockScore": sepsis.name}
    with tempfile.TemporaryDirectory(prefix="understudy-example-") as folder:
        store = Store.open(f"sqlite:///{folder}/service.db")
        app = build([diabetes_example(), sepsis], store, caps={sepsis.name: 50.0}, aliases=aliases)
        desk: Desk = app.state.desk
        made = desk.keys.create(label="example", scopes=("score", "budget", "metrics"), rate=rate)
        desk.budgets.grant(made.key.key_id, desk.models[sepsis.name].model_id, 10.0)
        try:
            yield app, made.text
        finally:
            store.close()


def serve(app: "FastAPI", settings: Settings, *, ready: Callable[[str], None]) -> None:
    """Listen until told to stop; ``ready`` is called with the address once the port is ours."""
    from understudy.front.serving import answer, bound, shown_address
    from understudy.service.logs import configure

    listening = bound(settings.host, settings.port)
    configure(level=settings.log_level)
    options: dict[str, Any] = {}
    if settings.certificate is not None:
        options = {"ssl_certfile": str(settings.certificate), "ssl_keyfile": str(settings.certificate_key)}
    scheme = "http" if settings.certificate is None else "https"
    ready(f"{scheme}://{shown_address(listening)}")
    answer(app, listening, **options)
