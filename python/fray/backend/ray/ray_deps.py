"""Older path of `fray.backend.ray.environment`."""

from fray.backend.ray.environment import build_python_path, build_runtime_env, build_runtime_env_for_packages

__all__ = ["build_python_path", "build_runtime_env", "build_runtime_env_for_packages"]
