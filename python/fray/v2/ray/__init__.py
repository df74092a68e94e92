"""Older path of `fray.backend.ray`."""
