"""Where programs run, as one line of text: ``sync``, ``thread?max_workers=4``, ``local?cpus=2&memory=4GiB``.

The form is ``SCHEME[?KEY=VALUE&...]``. Values are percent-decoded; of a repeated key the last one counts. Keys of
``local`` are those of `fray.init`; ``resources`` is written ``resources=TPU:4,head_node:1``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fray._resources import check_resources
from fray._units import parse_bytes
from fray.errors import SettingsError

__all__ = ["Spec", "parse_spec"]


@dataclass(frozen=True, slots=True)
class Spec:
    """A parsed spec: the scheme and the settings in the types that constructors take."""

    scheme: str
    settings: dict[str, Any]


def parse_spec(text: str) -> Spec:
    """Parse a spec.

    Raises:
        SettingsError: unknown scheme or key, with the known ones listed, or a value that cannot be read.
    """
    from urllib.parse import unquote_plus

    scheme, _, query = text.strip().partition("?")
    keys = _SCHEMES.get(scheme)
    if keys is None:
        raise SettingsError(f"Unknown cluster spec: {text!r}. Known schemes: {', '.join(_SCHEMES)}.")
    settings: dict[str, Any] = {}
    for part in filter(None, query.split("&")):
        key, equals, raw = part.partition("=")
        key = unquote_plus(key)
        reader = keys.get(key)
        if reader is None:
            known = ", ".join(keys) or "none"
            raise SettingsError(f"Unknown key {key!r} in the cluster spec {text!r}. Keys of {scheme!r}: {known}.")
        if not equals:
            raise SettingsError(f"The key {key!r} has no value in the cluster spec {text!r}; write {key}=VALUE.")
        try:
            settings[key] = reader(unquote_plus(raw), key)
        except (ValueError, TypeError) as error:
            raise SettingsError(f"Cluster spec {text!r}: {error}") from None
    return Spec(scheme, settings)


def _text(raw: str, key: str) -> str:
    if not raw:
        raise ValueError(f"{key} is empty")
    return raw


def _count(raw: str, key: str) -> int:
    if not raw.isascii() or not raw.isdigit() or int(raw) < 1:
        raise ValueError(f"{key} must be a whole number of at least 1, got {raw!r}")
    return int(raw)


def _cpus(raw: str, key: str) -> float:
    try:
        amount = float(raw)
    except ValueError:
        raise ValueError(f"{key} must be a number, got {raw!r}") from None
    checked = check_resources({"CPU": amount}, key)["CPU"]
    return int(checked) if checked == int(checked) else checked


def _flag(raw: str, key: str) -> bool:
    if raw.lower() in ("1", "true", "yes", "on"):
        return True
    if raw.lower() in ("0", "false", "no", "off"):
        return False
    raise ValueError(f"{key} must be true or false, got {raw!r}")


def _resources(raw: str, key: str) -> dict[str, float]:
    amounts: dict[str, float] = {}
    for part in filter(None, raw.split(",")):
        name, colon, amount = part.rpartition(":")
        try:
            amounts[name] = float(amount)
        except ValueError:
            colon = ""
        if not colon:
            raise ValueError(f"{key} must look like TPU:4,head_node:1, got {raw!r}")
    return check_resources(amounts, key)


_Reader = Callable[[str, str], Any]
_SCHEMES: dict[str, dict[str, _Reader]] = {
    "sync": {"serialize": _flag},
    "thread": {"max_workers": _count},
    "local": {
        "cpus": _cpus,
        "memory": parse_bytes,
        "store_memory": parse_bytes,
        "spill_dir": _text,
        "resources": _resources,
        "namespace": _text,
        "address": _text,
        "max_workers": _count,
        "debug": _flag,
        "use_isolated_env": _flag,
    },
    "ray": {"address": _text, "namespace": _text, "autoscaling": _flag, "cluster": _text},
    "iris": {"controller": _text, "user": _text, "token_file": _text},
}
