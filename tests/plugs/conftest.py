"""What the tests of the plugs share."""

from __future__ import annotations

import fray
import pytest


@pytest.fixture
def native(fray_session_context: fray.JobContext) -> fray.JobContext:
    """One engine of two CPUs for all tests, as the current context."""
    return fray_session_context
