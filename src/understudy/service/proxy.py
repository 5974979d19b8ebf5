"""Identities that a proxy in front vouches for: believed with the proxy's secret, and from nobody else.

The proxy logs people in (by the agency's own directory), writes who it is into one header, and proves with a shared
secret in another that it is the proxy. Anybody else who sends the header is refused, not ignored: a misconfigured proxy
that lets it through must be noticed. A page of another site cannot use a login here: every change needs a body of the
type application/json, which browsers send elsewhere only with a permission that this service never gives.
"""

import base64
import hmac
import re
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request

from understudy.errors import ParameterError
from understudy.service.keys import IDENTITY
from understudy.service.problems import Problem
from understudy.service.secret import read_secret

SECRET_HEADER = "x-understudy-proxy"
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_TAKEN = frozenset({"authorization", "host", "content-type", "content-length", "cookie", SECRET_HEADER})


@dataclass(frozen=True, kw_only=True, repr=False)
class Proxy:
    """Which header names the person, and the secret that goes with it."""

    header: str
    secret: str

    @classmethod
    def of(cls, header: str, secret_file: Path | None) -> "Proxy":
        """From the settings; the file holds 32 bytes in base64, for its owner alone, as the service's own secret."""
        if not _HEADER.fullmatch(header) or header.lower() in _TAKEN:
            raise ParameterError(
                f"`identity_header` is {header[:80]!r}; name the header in which the proxy says who is asking, for "
                "example X-Remote-User."
            )
        if secret_file is None:
            raise ParameterError(
                "`identity_header` needs `identity_secret_file`: without the secret that the proxy sends in "
                "X-Understudy-Proxy anybody could write the header. Make one with `openssl rand -base64 32`."
            )
        if not secret_file.is_file():
            raise ParameterError(
                f"there is no file {str(secret_file)!r} with the proxy's secret; make one with `openssl rand -base64 "
                "32` and chmod 600."
            )
        return cls(header=header.lower(), secret=base64.b64encode(read_secret(secret_file)).decode())

    def identity(self, request: Request) -> str | None:
        """Who is asking, where the proxy says so; None where nobody says anything."""
        named, proof = request.headers.getlist(self.header), request.headers.get(SECRET_HEADER, "")
        if not named and not proof:
            return None
        if not hmac.compare_digest(proof.encode(), self.secret.encode()):
            raise Problem(
                "bad-key",
                "only the proxy in front may say who is asking, and this request does not carry its secret.",
            )
        if len(named) != 1 or not IDENTITY.admits(named[0]):
            raise Problem("bad-key", "the proxy did not say who is asking; log in there first.")
        return named[0]
