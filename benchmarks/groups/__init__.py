"""The rows, one module a group."""
