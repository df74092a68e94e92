from __future__ import annotations

import json

import fray
import pytest


def test_events_have_names_times_and_outcomes(tmp_path):
    ctx = fray.LocalJobContext()
    ctx.create_task(abs, (1,), options=fray.TaskOptions(name="good"))
    ctx.create_task(abs, ("x",), options=fray.TaskOptions(name='bad "name"'))
    path = tmp_path / "t.json"
    assert fray.timeline(path, context=ctx) == 2
    good, bad = json.loads(path.read_text())["traceEvents"]
    assert (good["name"], good["args"]) == ("good", {"ok": True})
    assert (bad["name"], bad["args"]) == ('bad "name"', {"ok": False})
    assert good["ts"] <= bad["ts"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.json"]


def test_failed_write_leaves_the_old_file(tmp_path):
    ctx = fray.LocalJobContext()
    ctx._timeline_events = lambda: [{"name": object()}]  # type: ignore[method-assign, list-item]
    path = tmp_path / "t.json"
    path.write_text("old")
    with pytest.raises(TypeError):
        fray.timeline(path, context=ctx)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.json"]
