"""Reinforcement learning: the return rises, and a rollout job or an actor that is killed ends nothing."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tests.examples.places import EXAMPLES, Place, running, wait_until

sys.path.insert(0, str(EXAMPLES))

import cartpole  # noqa: E402

UPDATES = 60


def returns(out: Path) -> list[dict[str, Any]]:
    file = out / "returns.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_placeholder() -> None:
    assert cartpole.LESSONS
