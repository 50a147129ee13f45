"""One request on its way through the gate."""

from __future__ import annotations

from novikoff.service.at_once import CYCLE, head, sent
from novikoff.service.refusal import PRIVATE, Headers, Message, Receive, Refusal, Scope, Send
from novikoff.service.tokens import Granted, Tokens

DISCONNECT = {"type": "http.disconnect"}
LATE, LEFT = "late", "left"
"""Set in the scope by the connection: the client took too long for its body, or is there no more."""


class Visit:
    """Who asks, for what, and what became of it. The app finds it in `scope["visit"]`."""

    # Defaults of the class: most are never set, and each request pays for what is.
    name = "unknown"
    """Of the route, as in the table of routes."""
    model: str | None = None
    """The name in the path. Whoever makes a model sets it, for the audit log."""
    media: str | None = None
    """The media type of the body, one of those that the route takes."""
    granted: Granted | None = None
    """Whose token came; None where none is needed."""
    client: str | None = None
    """Whose slot of concurrent requests this one uses."""
    scope: str | None = None
    """What the token must allow."""
    watched = False
    """Whether the pieces of the body are looked at: its size is not known before, or it is a stream."""
    most: int | None = None
    """Bytes of the body; None without end, for streams."""
    status = 0
    code: str | None = None
    """Why it was refused, by the gate itself."""
    ended = False
    """Whether the app has nobody to talk to: the client left, or was told by the gate that it has to."""
    secure: Headers = PRIVATE
    _came = 0

    def __init__(self, scope: Scope, tokens: Tokens, receive: Receive, send: Send) -> None:
        self._scope, self._tokens, self._receive, self._send = scope, tokens, receive, send

    async def receive(self) -> Message:
        """The next piece of the body, as long as it is not too large and whoever sends it is welcome."""
        if self.ended:
            return DISCONNECT
        message = await self._receive()
        if message["type"] != "http.request":
            self.ended = True
        elif self.most is not None:
            self._came += len(message.get("body", b""))
            if self._came > self.most:
                if not self.status:
                    await self.refuse(too_large(self.most))
                self.ended = True
        elif message.get("more_body", False) and not self._welcome():
            self.ended = True
        return DISCONNECT if self.ended else message

    async def send(self, message: Message) -> None:
        if self.ended:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], *self.secure] if "headers" in message else self.secure
        elif message.get("more_body", False) and (LEFT in self._scope or not self._welcome()):
            self.ended = True
            raise ConnectionAbortedError("The client left, or its token was revoked or has expired.")
        await self._send(message)

    async def answer(self, status: int, media: str, body: bytes) -> None:
        """A whole answer of the app."""
        if self.ended:
            return
        cycle = self._scope.get(CYCLE)
        if cycle is not None and sent(cycle, head(status, media, self.secure), body):
            self.status = status
            return
        headers = [(b"content-type", media.encode()), (b"content-length", b"%d" % len(body))]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    async def refuse(self, refusal: Refusal) -> None:
        self.status, self.code = refusal.status, refusal.code
        await refusal.send(self._send, self.secure)
        self.ended = True

    def _welcome(self) -> bool:
        """A stream may be long: the token may be revoked meanwhile."""
        return self.granted is None or self._tokens.still(self.granted)


def too_large(most: int) -> Refusal:
    return Refusal(
        413, "too-large", f"The body may have {most:,} bytes, but has more: send it in parts or as a stream."
    )
