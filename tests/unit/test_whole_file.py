"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fray._whole_file import whole_file


def write(path: Path | str, text: str) -> None:
    with whole_file(path) as place, open(place, "w") as file:
        file.write(text)


def test_the_file_is_there_as_a_whole_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "it"
    write(path, "first")
    with pytest.raises(RuntimeError), whole_file(path) as place:
        Path(place).write_text("half")
        raise RuntimeError
    assert path.read_text() == "first" and os.listdir(tmp_path) == ["it"]


def test_a_link_stays_one_and_its_file_is_written(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "it")
    for text in ("new", "newer"):
        write(link, text)
        assert link.is_symlink() and (tmp_path / "it").read_text() == text


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writing = threading.Thread(target=write, args=(path, "through"))
    writing.start()
    assert path.read_text() == "through"
    writing.join()
    assert path.is_fifo()


def test_standard_output_is_written_to_whatever_it_is(tmp_path: Path) -> None:
    text = (
        "from fray._whole_file import whole_file\nwith whole_file('/dev/stdout') as place: open(place, 'a').write('it')"
    )
    with open(tmp_path / "out", "w") as out:
        subprocess.run([sys.executable, "-c", text], check=True, stdout=out, timeout=60)
    assert (tmp_path / "out").read_text() == "it" and os.path.islink("/dev/stdout")


def test_a_device_is_written_to_and_stays_one() -> None:
    with whole_file("/dev/null") as place:
        assert place == "/dev/null"
