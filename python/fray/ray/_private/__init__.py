"""`ray._private`: the few modules that benchmarks and examples of Ray import."""
