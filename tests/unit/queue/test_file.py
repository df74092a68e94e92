from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fray import UnsupportedError
from fray.queue import FileQueue

WORKER = """
import sys
from fray.queue import FileQueue
queue = FileQueue(sys.argv[1])
while (lease := queue.pop()) is not None:
    print(lease.item)
    queue.done(lease)
"""


class Unreadable:
    """Can be pickled, not unpickled."""

    def __reduce__(self):
        return int, ("no number",)


def test_processes_get_every_item_once(tmp_path: Path):
    queue = FileQueue[int](tmp_path)
    for item in range(100):
        queue.push(item)
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, tmp_path], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    lines = [line for worker in workers for line in worker.communicate()[0].split()]
    assert [worker.returncode for worker in workers] == [0, 0, 0]
    assert sorted(map(int, lines)) == list(range(100))


def test_queue_outlives_its_object(tmp_path: Path):
    FileQueue[str](tmp_path).push("a")
    lease = FileQueue[str](tmp_path).pop()
    assert lease is not None
    assert lease.item == "a"


def test_lease_can_be_ended_by_a_copy(tmp_path: Path):
    queue = FileQueue[str](tmp_path)
    queue.push("a")
    lease, copy = pickle.loads(pickle.dumps((queue.pop(), queue)))
    copy.done(lease)
    assert (queue.size(), queue.pending()) == (0, 0)


def test_item_that_is_half_written_is_not_seen(tmp_path: Path):
    queue = FileQueue[str](tmp_path)
    (tmp_path / "new" / "00000000000000000001_a.pkl").write_bytes(pickle.dumps("half")[:-1])
    assert (queue.pop(), queue.peek(), queue.size()) == (None, None, 0)


def test_item_that_cannot_be_pickled_leaves_nothing(tmp_path: Path):
    queue = FileQueue[object](tmp_path)
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        queue.push(lambda: None)
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


def test_item_that_cannot_be_read_does_not_block_the_others(tmp_path: Path):
    queue = FileQueue[object](tmp_path)
    queue.push(Unreadable())
    queue.push("b")
    with pytest.raises(ValueError, match="no number"):
        queue.pop()
    assert (queue.size(), queue.pending()) == (1, 1)
    assert queue.peek() == "b"


def test_strange_files_are_left_alone(tmp_path: Path):
    queue = FileQueue[str](tmp_path)
    (tmp_path / "processing" / "README").write_text("")
    assert queue.pop() is None
    assert (tmp_path / "processing" / "README").exists()


def test_relative_folder_is_kept_when_the_process_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    queue = FileQueue[str]("queue")
    monkeypatch.chdir("/")
    queue.push("a")
    assert (tmp_path / "queue" / "pending").exists()
    assert queue.peek() == "a"


def test_store_that_fsspec_lacks_a_package_for_says_which():
    with pytest.raises(UnsupportedError, match=r"cannot use 'gs://bucket/queue': .*gcsfs"):
        FileQueue("gs://bucket/queue")
    with pytest.raises(UnsupportedError, match="cannot use 'nonsense://x'"):
        FileQueue("nonsense://x")


def test_url_without_fsspec_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(UnsupportedError, match="pip install fsspec"):
        FileQueue("memory://queue")


def test_arguments_of_a_store_need_a_url(tmp_path: Path):
    with pytest.raises(TypeError, match="fs_args are for a URL"):
        FileQueue(tmp_path, {"anon": True})


def test_processes_get_every_item_at_least_once_through_fsspec(tmp_path: Path):
    url = f"file://{tmp_path}"
    queue = FileQueue[int](url)
    for item in range(60):
        queue.push(item)
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, url], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    lines = [line for worker in workers for line in worker.communicate()[0].split()]
    assert set(map(int, lines)) == set(range(60))
    assert (queue.size(), queue.pending()) == (0, 0)


def test_queue_at_a_url_can_be_pickled(tmp_path: Path):
    queue = FileQueue[str](f"file://{tmp_path}/a/b")
    queue.push("a")
    lease, copy = pickle.loads(pickle.dumps((queue.pop(), queue)))
    copy.release(lease)
    assert queue.peek() == "a"


@pytest.mark.parametrize("scheme", ["", "file://", "local://"])
def test_what_is_being_pushed_is_seen_whole_or_not_at_all(tmp_path: Path, scheme: str):
    queue = FileQueue[bytes](f"{scheme}{tmp_path}/queue")
    items = 15
    with ThreadPoolExecutor(1) as pool:
        pushing = pool.submit(lambda: [queue.push(bytes(8 << 20)) for _ in range(items)])
        for _ in range(items):
            lease = queue.pop(60, wait=60)
            assert lease is not None
            assert len(lease.item) == 8 << 20
        pushing.result(60)
