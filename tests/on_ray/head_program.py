"""Starts Ray with the settings given as JSON, prints where it is, and ends it when the input ends."""

from __future__ import annotations

import json
import logging
import sys

import ray

settings = json.loads(sys.argv[1])
context = ray.init(log_to_driver=False, logging_level=logging.ERROR, **settings)
print(json.dumps({"gcs": context.address_info["gcs_address"], "dashboard": context.dashboard_url}), flush=True)
sys.stdin.read()
ray.shutdown()
