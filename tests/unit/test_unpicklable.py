from __future__ import annotations

import pickle
import threading

from fray._unpicklable import serialization_error


def can_pickle(value: object) -> bool:
    try:
        pickle.dumps(value)
    except Exception:
        return False
    return True


def message_for(value: object) -> str:
    return str(serialization_error("it", value, TypeError("no"), can_pickle))


class Holder:
    def __init__(self, part: object) -> None:
        self.part = part


def test_path_goes_through_containers_and_attributes():
    value = {"a": [1, Holder(threading.Lock())]}
    assert "['a'] (list) → [1] (Holder) → attribute 'part' (lock)" in message_for(value)


def test_path_goes_through_closures_and_defaults():
    lock = threading.Lock()

    def in_closure():
        return lock

    def in_default(x=lock):
        return x

    assert "closure 'lock' (lock)" in message_for(in_closure)
    assert "default 0 (lock)" in message_for(in_default)
    assert "the object it is bound to (Holder) → attribute 'part'" in message_for(Holder(lock).__init__)


def test_circular_values_end():
    value: list[object] = [threading.Lock()]
    value.insert(0, value)
    assert "[1] (lock)" in message_for(value)
