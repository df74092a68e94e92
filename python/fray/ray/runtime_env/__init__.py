"""`ray.runtime_env`: the runtime environment of a task, an actor or a program, as a dict with checks."""

from __future__ import annotations

from typing import Any

from fray.ray._options import check_runtime_env

__all__ = ["RuntimeEnv", "RuntimeEnvConfig"]


class RuntimeEnv(dict[str, Any]):
    """The dict that the option ``runtime_env`` takes."""

    def __init__(self, **keys: Any) -> None:
        super().__init__({name: value for name, value in keys.items() if value is not None})
        check_runtime_env(self)

    def to_dict(self) -> dict[str, Any]:
        return dict(self)

    def env_vars(self) -> dict[str, str]:
        return self.get("env_vars", {})


class RuntimeEnvConfig(dict[str, Any]):
    """Settings for the creation of environments, which are ignored."""

    def __init__(self, **keys: Any) -> None:
        super().__init__(keys)
