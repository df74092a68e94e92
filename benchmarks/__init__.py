"""Measures Fray beside Ray, `multiprocessing.Pool` and the limits of the machine; see README.md in this folder."""
