"""A table bounded by bytes keeps what is used, and nothing else for long."""

from __future__ import annotations

import threading

from fray._recent import Recent


def table(most: int) -> Recent[str, str]:
    return Recent(most, lambda key, value: len(key) + len(value))


def held(recent: Recent[str, str], keys: list[str]) -> int:
    return sum(recent[key] is not None for key in keys)


def test_a_missing_key_is_none():
    assert table(100)["nothing"] is None


def test_what_was_used_last_is_there():
    recent = table(1000)
    assert recent.keep("a", "x") == "x"
    assert recent["a"] == "x"


def test_entries_are_bounded_by_their_bytes():
    recent = table(10_000)
    keys = [f"key{number:05}" for number in range(5_000)]
    for key in keys:
        recent.keep(key, "x" * 92)
    assert 40 <= held(recent, keys[-100:]) <= 101
    assert held(recent, keys[:-101]) == 0


def test_an_entry_that_is_used_all_the_time_stays():
    recent = table(10_000)
    recent.keep("always", "here")
    for number in range(5_000):
        recent.keep(str(number), "x" * 90)
        assert recent["always"] == "here"


def test_one_that_is_larger_than_all_room_is_found_until_the_next():
    recent = table(100)
    recent.keep("large", "x" * 1_000)
    assert recent["large"] is not None
    recent.keep("next", "y" * 1_000)
    assert recent["next"] is not None
    recent.keep("third", "z" * 1_000)
    assert recent["large"] is None


def test_threads_that_meet_get_their_own_values():
    recent = table(2_000)
    wrong: list[str] = []

    def use(name: str) -> None:
        for number in range(2_000):
            key = f"{name}{number % 50}"
            found = recent[key] or recent.keep(key, key * 3)
            if found != key * 3:
                wrong.append(found)

    threads = [threading.Thread(target=use, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
