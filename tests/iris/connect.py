"""The Connect protocol, unary: codecs, headers and errors."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format

from tests.iris.errors import ConnectError

PROTO = "application/proto"
JSON = "application/json"


def codec_of(headers: Mapping[str, str]) -> str | None:
    """The codec that a request is in; None where its type is not served."""
    kind = headers.get("Content-Type", "").partition(";")[0].strip()
    return kind if kind in (PROTO, JSON) else None


def check_headers(headers: Mapping[str, str]) -> None:
    version = headers.get("Connect-Protocol-Version", "1")
    if version != "1":
        raise ConnectError("invalid_argument", f"connect-protocol-version must be '1': got '{version}'")
    timeout = headers.get("Connect-Timeout-Ms", "0")
    if not timeout.isdigit():
        raise ConnectError("invalid_argument", f"Invalid timeout header: '{timeout}'")


def inflated(body: bytes, headers: Mapping[str, str]) -> bytes:
    encoding = headers.get("Content-Encoding", "identity")
    if encoding == "gzip":
        return gzip.decompress(body)
    if encoding != "identity":
        raise ConnectError(
            "unimplemented", f"unknown compression: '{encoding}': supported encodings are zstd, gzip, identity"
        )
    return body


def decoded(kind: Any, codec: str, body: bytes) -> Any:
    """The message in a request's body."""
    try:
        if codec == PROTO:
            return kind.FromString(body)
        return json_format.Parse(body, kind())
    except Exception as error:
        raise ConnectError("unknown", str(error)) from None


def encoded(message: Any, codec: str) -> bytes:
    if codec == PROTO:
        return message.SerializeToString()
    return json_format.MessageToJson(message, indent=None).encode()


def error_body(error: ConnectError, exception: str | None = None) -> bytes:
    """JSON, whatever the codec of the request."""
    document: dict[str, Any] = {"code": error.code, "message": str(error)}
    if exception:
        debug = {"exceptionType": exception, "message": str(error)}
        value = base64.b64encode(json.dumps(debug).encode()).rstrip(b"=").decode()
        document["details"] = [{"type": "iris.rpc.ErrorDetails", "value": value, "debug": debug}]
    return json.dumps(document).encode()
