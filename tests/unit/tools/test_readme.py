import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.check_layers import ROOT


@pytest.mark.parametrize("spec", ["sync", "thread?max_workers=2"])
def test_program_in_the_readme_prints_what_its_comments_say(tmp_path: Path, spec: str) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (tmp_path / "program.py").write_text(program)
    result = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "FRAY_CLUSTER_SPEC": spec},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.stderr == ""
    assert result.stdout.splitlines() == ["[6, 4]", "10", "[18, 20]"]
