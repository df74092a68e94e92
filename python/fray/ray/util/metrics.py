"""`ray.util.metrics`: counters, gauges and histograms, whose values stay in their process."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Counter", "Gauge", "Histogram", "Metric"]

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")


class Metric:
    """A name, and a value for each combination of tags."""

    def __init__(self, name: str, description: str = "", tag_keys: Sequence[str] | None = None) -> None:
        if not name:
            raise ValueError("Empty name is not allowed. Please provide a metric name.")
        keys: Any = tag_keys or ()
        if isinstance(keys, str) or not all(isinstance(key, str) for key in keys):
            raise TypeError(f"tag_keys should be a tuple of str, got {tag_keys!r}")
        if _NAME.fullmatch(name) is None:
            warnings.warn(f"The metric name {name!r} is invalid: letters, digits, _ and : are allowed", stacklevel=3)
        self._name = name
        self._description = description
        self._tag_keys = tuple(tag_keys or ())
        self._default_tags: dict[str, str] = {}
        self._values: dict[tuple[tuple[str, str], ...], Any] = {}

    def set_default_tags(self, default_tags: Mapping[str, str]) -> Metric:
        """Set the tags of values that are given without them; return the metric."""
        for key, value in default_tags.items():
            if key not in self._tag_keys:
                raise ValueError(f"Unrecognized tag key {key}.")
            self._check_tag(value)
        self._default_tags = dict(default_tags)
        return self

    @staticmethod
    def _check_tag(value: object) -> None:
        if not isinstance(value, str):
            raise TypeError(f"Tag values must be str, got {type(value)}.")

    def _tags(self, tags: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
        for value in (tags or {}).values():
            self._check_tag(value)
        merged = {**self._default_tags, **(tags or {})}
        missing = [key for key in self._tag_keys if key not in merged]
        if missing:
            raise ValueError(f"Missing value for tag key(s): {','.join(missing)}.")
        return tuple(sorted(merged.items()))

    @property
    def info(self) -> dict[str, Any]:
        return {
            "name": self._name,
            "description": self._description,
            "tag_keys": self._tag_keys,
            "default_tags": self._default_tags,
        }


def _check_number(value: object) -> None:
    if not isinstance(value, (int, float)):
        raise TypeError(f"value must be int or float, got {type(value)}.")


class Counter(Metric):
    """A number that only grows."""

    def inc(self, value: float = 1.0, tags: Mapping[str, str] | None = None) -> None:
        """Add `value`."""
        _check_number(value)
        if value <= 0:
            raise ValueError(f"value must be >0, got {value}")
        key = self._tags(tags)
        self._values[key] = self._values.get(key, 0.0) + value


class Gauge(Metric):
    """A number that changes with each `set`."""

    def set(self, value: float | None, tags: Mapping[str, str] | None = None) -> None:
        """Set the value."""
        if value is not None:
            _check_number(value)
        self._values[self._tags(tags)] = value


class Histogram(Metric):
    """The numbers of values between boundaries."""

    def __init__(
        self,
        name: str,
        description: str = "",
        boundaries: Sequence[float] | None = None,
        tag_keys: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, description, tag_keys)
        if not boundaries:
            raise ValueError("boundaries argument should be provided when using the Histogram class. e.g., [1, 2]")
        if any(boundary <= 0 for boundary in boundaries):
            raise ValueError(f"Invalid `boundaries`: all must be > 0, got {boundaries}")
        self.boundaries = list(boundaries)

    def observe(self, value: float, tags: Mapping[str, str] | None = None) -> None:
        """Count a value."""
        _check_number(value)
        counts = self._values.setdefault(self._tags(tags), [0] * (len(self.boundaries) + 1))
        counts[sum(boundary < value for boundary in self.boundaries)] += 1

    @property
    def info(self) -> dict[str, Any]:
        return {**super().info, "boundaries": self.boundaries}
