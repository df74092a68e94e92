"""What no node of a Ray can ever give."""

from __future__ import annotations

import pytest
from fray import InfeasibleError
from fray.backend.ray.capacity import Capacity, on_head, shortage, shortage_of_gang

GIB = 1 << 30
SMALL = {"CPU": 2.0, "memory": 1e9, "node:__internal_head__": 1.0}
WITH_TPU = {"CPU": 1.0, "TPU": 4.0}


def test_what_fits_on_one_node_lacks_nothing():
    assert shortage({"CPU": 2}, [SMALL, WITH_TPU]) is None
    assert shortage({"CPU": 1, "TPU": 4}, [SMALL, WITH_TPU]) is None
    assert shortage({"CPU": 0, "GPU": 0}, [SMALL]) is None


def test_shortage_names_what_is_missing_and_the_most_there_is():
    assert shortage({"CPU": 1, "TPU": 8}, [SMALL, WITH_TPU]) == "TPU: asked for 8, the most that a node has is 4"
    assert "GPU: asked for 1, the most that a node has is 0" in str(shortage({"GPU": 1}, [SMALL]))


def test_resources_of_two_nodes_do_not_add_up():
    assert shortage({"CPU": 2, "TPU": 4}, [SMALL, WITH_TPU]) == "no single node has all of CPU, TPU at once"


def test_head_is_rays_own_mark_where_nobody_declares_one():
    assert on_head({"CPU": 0, "head_node": 0.0001}, [SMALL]) == {"CPU": 0, "node:__internal_head__": 0.0001}
    declared = [{**SMALL, "head_node": 1.0}]
    assert on_head({"head_node": 0.5}, declared) == {"head_node": 0.5}


def test_new_node_is_seen_before_anything_is_refused():
    nodes = [[SMALL], [SMALL, WITH_TPU]]
    capacity = Capacity(lambda: nodes.pop(0) if len(nodes) > 1 else nodes[0], grows=False)
    assert capacity.place({"TPU": 4}, "task 'f'") == {"TPU": 4}
    with pytest.raises(InfeasibleError, match=r"task 'f' asks for what no node of this Ray has \(GPU: asked for 1"):
        capacity.place({"GPU": 1}, "task 'f'")


def test_nothing_is_refused_where_nodes_come_by_themselves():
    assert Capacity(lambda: [SMALL], grows=True).place({"TPU": 4}, "task 'f'") == {"TPU": 4}


def test_memory_is_told_as_people_write_it():
    told = shortage({"memory": 16 << 30}, [{"memory": 25_276_500_00}])
    assert told == "memory: asked for 16.0 GiB, the most that a node has is 2.4 GiB"
    told = shortage({"memory": (8 << 30) + 1}, [{"memory": 8 << 30}])
    assert told == "memory: asked for 8589934593 bytes, the most that a node has is 8589934592 bytes"


def test_replicas_must_fit_all_at_once():
    nodes = [{"CPU": 3.0, "memory": 4.0 * GIB}, {"CPU": 1.0}]
    assert shortage_of_gang({"CPU": 1}, 4, nodes) is None
    assert shortage_of_gang({"CPU": 0}, 100, nodes) is None
    assert shortage_of_gang({"CPU": 2}, 2, nodes) == "2 replicas with CPU 2 each: there is room for 1 at once"
    lacking = shortage_of_gang({"CPU": 1, "memory": 3 * GIB}, 2, nodes)
    assert lacking == "2 replicas with CPU 1, memory 3.0 GiB each: there is room for 1 at once"
