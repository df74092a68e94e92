"""Which machines form a TPU slice."""

from __future__ import annotations

import pytest
from fray.backend.ray.slices import Node, Slice, find_slices, multislice_variables, slice_counts
from fray.cluster import get_tpu_topology

V4_8 = get_tpu_topology("v4-8")
V4_16 = get_tpu_topology("v4-16")


def node(name: str, **resources: float) -> Node:
    return Node(name, f"10.0.0.{ord(name[-1])}", {"CPU": 8.0, "node:10.0.0.1": 1.0, **resources})


def test_slice_of_one_machine_is_its_head():
    nodes = [node("a", **{"TPU": 4, "TPU-v4-8-head": 1}), node("b", TPU=4)]
    assert find_slices(nodes, V4_8) == [Slice((nodes[0],))]


def test_machines_of_a_slice_have_its_name_in_common():
    heads = [node(name, **{"TPU": 4, "TPU-v4-16-head": 1, pod: 1}) for name, pod in (("a", "pod-x"), ("b", "pod-y"))]
    mates = [node("c", **{"TPU": 4, "pod-y": 1}), node("d", **{"TPU": 4, "pod-x": 1})]
    assert find_slices([*heads, *mates], V4_16) == [Slice((heads[0], mates[1])), Slice((heads[1], mates[0]))]


def test_slice_that_is_not_whole_is_none():
    head = node("a", **{"TPU": 4, "TPU-v4-16-head": 1, "pod-x": 1})
    assert find_slices([head], V4_16) == []
    assert find_slices([head, node("b", **{"TPU": 2, "pod-x": 1})], V4_16) == []


def test_variables_are_for_several_slices_only():
    slices = [Slice((node("a"),)), Slice((node("b"),))]
    assert multislice_variables(slices[:1], 0) == {}
    assert multislice_variables(slices, 1) == {
        "MEGASCALE_COORDINATOR_ADDRESS": "10.0.0.97:8081",
        "MEGASCALE_NUM_SLICES": "2",
        "MEGASCALE_PORT": "8081",
        "MEGASCALE_SLICE_ID": "1",
    }


def test_largest_number_of_slices_comes_first():
    assert slice_counts(2) == [2]
    assert slice_counts([1, 4, 2, 4]) == [4, 2, 1]


@pytest.mark.parametrize("wrong", [0, -1, [], [1, 0], True, [1.5], "2"])
def test_numbers_that_make_no_sense_are_refused(wrong: object):
    with pytest.raises((TypeError, ValueError), match="num_slices"):
        slice_counts(wrong)  # type: ignore[arg-type]
