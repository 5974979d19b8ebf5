"""Somebody at the studio without a browser: carries the cookie, the origin and the token as a browser would."""

import asyncio
import re
import time

import httpx

from understudy.studio.app import create_app
from understudy.studio.guard import Keys
from understudy.studio.workspace import Root

HOST = "studio.test"
ORIGIN = f"http://{HOST}"


class Visitor:
    """One person in one session."""

    def __init__(self, root, *, keys=None, app=None, enter=True):
        self.root = Root.at(root)
        self.keys = keys or Keys(self.root.settings["people"])
        self.app = app or create_app(self.root, self.keys, hosts={HOST}, origins={ORIGIN}, port=0)
        self.cookies = httpx.Cookies()
        if enter:
            token = next(iter(self.keys.waiting))
            assert self.get(f"/enter?token={token}").status_code == 303

    def ask(self, method, path, **words):
        """One request, as it is written."""

        async def asked():
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, cookies=self.cookies) as client:
                answer = await client.request(method, path, **words)
                self.cookies.update(client.cookies)
                return answer

        return asyncio.run(asked())

    def get(self, path, **headers):
        return self.ask("GET", path, headers=headers)

    @property
    def csrf(self):
        return re.search(r'name="csrf" value="([^"]+)"', self.get("/new").text)[1]

    def post(self, path, fields=(), *, origin=ORIGIN, csrf=None, came_from="/"):
        pairs = [
            ("csrf", self.csrf if csrf is None else csrf),
            *(fields.items() if hasattr(fields, "items") else fields),
        ]
        headers = {"Referer": ORIGIN + came_from} | ({"Origin": origin} if origin else {})
        body = {}
        for name, value in pairs:
            body.setdefault(name, []).append(value)
        return self.ask("POST", path, data=body, headers=headers)

    def done(self, path, fields=()):
        """A change, and the screen that follows it."""
        answer = self.post(path, fields, came_from=path)
        assert answer.status_code == 303, answer.text
        return self.get(answer.headers["location"])

    def wait(self, name, patience=120):
        """Until nobody looks at the data any more."""
        from understudy.studio.looks import is_looking

        until = time.monotonic() + patience
        while is_looking(self.root.dataset(name)):
            assert time.monotonic() < until, "the look takes too long"
            time.sleep(0.05)
