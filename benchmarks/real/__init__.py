"""Programs that people run, each written once for all engines that can run it."""
