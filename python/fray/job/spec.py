"""Where programs run, as one line of text: ``sync``, ``thread?max_workers=4``, ``local?cpus=2&memory=4GiB``.

The form is ``SCHEME[?KEY=VALUE&...]``. Values are percent-decoded; of a repeated key the last one counts. Schemes and
their keys are those of `fray.backend.BACKENDS`. Keys of ``local`` are those of `fray.init`; ``resources`` is written
``resources=TPU:4,head_node:1``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fray._passwords import without_passwords
from fray.backend import BACKENDS, Backend
from fray.errors import SettingsError

__all__ = ["Spec", "parse_spec"]


class Spec(NamedTuple):
    """A parsed spec: the scheme and the settings in the types that constructors take."""

    scheme: str
    settings: dict[str, Any]

    @property
    def backend(self) -> Backend:
        """The backend that the scheme names."""
        return BACKENDS[self.scheme]


def parse_spec(text: str) -> Spec:
    """Parse a spec.

    Raises:
        SettingsError: unknown scheme or key, with the known ones listed, or a value that cannot be read.
    """
    from urllib.parse import unquote_plus

    scheme, _, query = text.strip().partition("?")
    if scheme not in BACKENDS:
        raise SettingsError(f"Unknown cluster spec: {without_passwords(text)!r}. Known schemes: {', '.join(BACKENDS)}.")
    keys = BACKENDS[scheme].keys
    settings: dict[str, Any] = {}
    for part in filter(None, query.split("&")):
        key, equals, raw = part.partition("=")
        key = unquote_plus(key)
        reader = keys.get(key)
        if reader is None:
            known = ", ".join(keys) or "none"
            raise SettingsError(
                f"Unknown key {key!r} in the cluster spec {without_passwords(text)!r}. Keys of {scheme!r}: {known}."
            )
        if not equals:
            raise SettingsError(
                f"The key {key!r} has no value in the cluster spec {without_passwords(text)!r}; write {key}=VALUE."
            )
        try:
            settings[key] = reader(unquote_plus(raw), key)
        except (ValueError, TypeError) as error:
            raise SettingsError(f"Cluster spec {without_passwords(text)!r}: {without_passwords(str(error))}") from None
    return Spec(scheme, settings)
