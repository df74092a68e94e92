"""`Auth`: who asks. Without tokens everybody is `anonymous` and an admin, as on a controller without a provider."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from dataclasses import dataclass

from tests.iris.errors import ConnectError

_DAYS_30 = 30 * 86400
OPEN_CALLS = frozenset({"GetAuthInfo", "Login"})


@dataclass(frozen=True)
class Caller:
    user: str
    role: str


class Auth:
    """Static tokens, which Login exchanges for signed ones."""

    def __init__(self, tokens: dict[str, str] | None = None, admins: frozenset[str] = frozenset()) -> None:
        self._tokens = tokens or {}
        self._admins = admins
        self._secret = secrets.token_bytes(32)
        self._valid: dict[str, str] = {}  # key id -> user

    @property
    def provider(self) -> str:
        return "static" if self._tokens else ""

    def login(self, identity_token: str) -> tuple[str, str, str]:
        """The signed token, its key's id and the user; earlier keys of that user are of no use from now on."""
        user = self._tokens.get(identity_token)
        if user is None:
            raise ConnectError("unauthenticated", "Login failed: Invalid token")
        self.revoke(user)
        key = "iris_k_" + secrets.token_urlsafe(8)
        self._valid[key] = user
        return self.sign(user, key, int(time.time()) + _DAYS_30), key, user

    def revoke(self, user: str) -> None:
        self._valid = {key: owner for key, owner in self._valid.items() if owner != user}

    def sign(self, user: str, key: str, expires: int) -> str:
        role = "admin" if user in self._admins else "user"
        claims = {"sub": user, "role": role, "jti": key, "iat": int(time.time()), "exp": expires}
        body = _encoded({"alg": "HS256", "typ": "JWT"}) + "." + _encoded(claims)
        return body + "." + self._signature(body)

    def caller(self, call: str, header: str | None, cookie: str | None) -> Caller:
        """Who makes a call, by its Authorization header or the session's cookie."""
        if not self.provider:
            return Caller("anonymous", "admin")
        if call in OPEN_CALLS:
            return Caller("", "")
        token = (header or "").removeprefix("Bearer ") or cookie
        if not token:
            raise ConnectError("unauthenticated", "Missing authentication")
        body, _, signature = token.rpartition(".")
        if not body or not hmac.compare_digest(signature, self._signature(body)):
            raise ConnectError("unauthenticated", "Authentication failed")
        claims = json.loads(base64.urlsafe_b64decode(body.partition(".")[2] + "=="))
        if claims["exp"] < time.time() or claims["jti"] not in self._valid:
            raise ConnectError("unauthenticated", "Authentication failed")
        return Caller(claims["sub"], claims["role"])

    def _signature(self, body: str) -> str:
        digest = hmac.new(self._secret, body.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _encoded(document: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=").decode()
