"""How much slower than a free machine this one may be: the multiplier of the time limits in tests.

`FRAY_TEST_SLOWNESS` says it; the runs under sanitizers set it. Machines of continuous integration, `CI=true`, have 3.
"""

from __future__ import annotations

import os

SLOWNESS = float(os.environ.get("FRAY_TEST_SLOWNESS") or (3 if os.environ.get("CI") == "true" else 1))
