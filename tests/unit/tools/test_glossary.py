import ast
import re

from tools.check_layers import ROOT


def test_every_error_stands_in_the_glossary_once() -> None:
    source = ast.parse((ROOT / "python" / "fray" / "errors.py").read_text())
    errors = [node.name for node in source.body if isinstance(node, ast.ClassDef) and node.name != "RemoteTraceback"]
    rows = re.findall(r"^\| `(\w+Error)` \|", (ROOT / "docs" / "concepts" / "glossary.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(errors)
