from __future__ import annotations

import copy
import json
import os
import pickle

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
    ctx.engine.timeline_events = lambda: [{"name": object()}]  # type: ignore[method-assign, list-item]
    path = tmp_path / "t.json"
    path.write_text("old")
    with pytest.raises(TypeError):
        fray.timeline(path, context=ctx)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.json"]


def names_in(path) -> list[str]:
    return [event["name"] for event in json.loads(path.read_text())["traceEvents"]]


def test_a_block_writes_what_ended_inside(tmp_path):
    path = tmp_path / "t.json"
    ctx = fray.LocalJobContext()
    ctx.run(abs, 1, name="before")
    with fray.timeline(path, context=ctx):
        ctx.run(abs, 1, name="inside")
    ctx.run(abs, 1, name="behind")
    assert names_in(path) == ["inside"]


def test_a_block_that_raises_is_written_too(tmp_path):
    path = tmp_path / "t.json"
    ctx = fray.LocalJobContext()
    with pytest.raises(LookupError), fray.timeline(path, context=ctx):
        ctx.run(abs, 1, name="inside")
        raise LookupError
    assert names_in(path) == ["inside"]


def test_the_place_is_that_of_the_beginning(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    ctx = fray.LocalJobContext()
    with fray.timeline("t.json", context=ctx):
        monkeypatch.chdir(tmp_path / "elsewhere")
    assert (tmp_path / "t.json").exists()
    assert not (tmp_path / "elsewhere" / "t.json").exists()


def test_no_context_is_started_for_it_and_one_that_the_block_makes_is_written(tmp_path):
    fray.set_job_context(None)
    path = tmp_path / "t.json"
    try:
        with fray.timeline(path) as before:
            assert before == 0
            ctx = fray.LocalJobContext()
            fray.set_job_context(ctx)
            ctx.run(abs, 1, name="inside")
        assert names_in(path) == ["inside"]
    finally:
        fray.set_job_context(None)


def test_blocks_inside_each_other_each_have_their_own(tmp_path):
    ctx = fray.LocalJobContext()
    outer, inner = tmp_path / "outer.json", tmp_path / "inner.json"
    with fray.timeline(outer, context=ctx):
        ctx.run(abs, 1, name="one")
        with fray.timeline(inner, context=ctx):
            ctx.run(abs, 1, name="two")
    assert names_in(outer) == ["one", "two"]
    assert names_in(inner) == ["two"]


def test_what_the_block_raises_goes_on_where_the_file_cannot_be_written(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(KeyError, match="mine") as caught, fray.timeline(folder / "t.json"):
        (folder / "t.json").unlink()
        folder.rmdir()
        raise KeyError("mine")
    assert "t.json was not written: FileNotFoundError" in caught.value.__notes__[0]


def test_a_place_that_cannot_be_written_is_named_as_it_was_given(tmp_path):
    path = tmp_path / "none" / "t.json"
    with pytest.raises(FileNotFoundError) as caught:
        fray.timeline(path)
    assert caught.value.filename == str(path)
    with pytest.raises(IsADirectoryError) as caught:
        fray.timeline(tmp_path)
    assert caught.value.filename == str(tmp_path)
    with pytest.raises(ValueError, match="empty"):
        fray.timeline("")
    with pytest.raises(TypeError, match="JobContext"):
        fray.timeline(path, context="ctx")  # type: ignore[arg-type]


def test_a_path_may_be_bytes_and_the_count_travels(tmp_path):
    ctx = fray.LocalJobContext()
    ctx.run(abs, 1)
    count = fray.timeline(os.fsencode(tmp_path / "t.json"), context=ctx)  # type: ignore[arg-type]
    assert names_in(tmp_path / "t.json") == ["abs"]
    assert (pickle.loads(pickle.dumps(count)), copy.copy(count)) == (1, 1)
