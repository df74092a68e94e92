"""Sizes that several workloads share, each as (full, quick)."""

LARGE_ELEMENTS = (100 << 20, 1 << 20)
"""Elements of 8 bytes in the large array: 800 MiB, as in Ray's own benchmark."""
