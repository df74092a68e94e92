"""Questions that lead back to themselves are answered, each once a round."""

from __future__ import annotations

from pathlib import Path

import pytest
from fray.migrate.answers import Answers

from tests.unit.migrate.moving import migrate


class Graph:
    """The answer of each node: its own letter, and those of all that it leads to."""

    def __init__(self, edges: dict[int, list[int]]) -> None:
        self.edges = edges
        self.answers: Answers[frozenset[int]] = Answers(frozenset())
        self.asked = 0

    def reach(self, node: int) -> frozenset[int]:
        return self.answers.of(node, lambda: self.find(node))

    def find(self, node: int) -> frozenset[int]:
        self.asked += 1
        return frozenset({node}).union(*[self.reach(each) for each in self.edges[node]])


@pytest.mark.parametrize("first", range(4))
def test_all_of_a_circle_get_the_same_whoever_is_asked_first(first: int) -> None:
    graph = Graph({0: [1], 1: [2, 0], 2: [3], 3: [1]})
    graph.reach(first)
    assert {node: graph.reach(node) for node in range(4)} == dict.fromkeys(range(4), frozenset(range(4)))


def test_work_does_not_grow_with_the_ways_through_a_program() -> None:
    graph = Graph({node: list(range(40)) for node in range(40)})
    assert graph.reach(7) == frozenset(range(40))
    assert graph.asked <= 4 * 40


def test_an_answer_that_grows_for_ever_is_cut() -> None:
    answers: Answers[tuple[object, ...]] = Answers(())

    def nest() -> tuple[object, ...]:
        return (answers.of(1, nest),)

    first = answers.of(1, nest)
    assert len(str(first)) < 20
    assert answers.of(1, nest) == first


def test_an_error_leaves_nothing_half_answered() -> None:
    answers: Answers[int] = Answers(0)
    with pytest.raises(ZeroDivisionError):
        answers.of(1, lambda: answers.of(2, lambda: 1 // 0))
    assert answers.of(2, lambda: 5) == 5
    assert answers.of(1, lambda: answers.of(2, lambda: 6)) == 5


@pytest.mark.timeout(60)
@pytest.mark.parametrize("direction", [[], ["--to-ray"]])
def test_variables_that_are_all_made_of_each_other_are_moved_at_once(tmp_path: Path, direction: list[str]) -> None:
    names = [f"x{i}" for i in range(9)]
    lines = [f"    {one} = {other}.remote({other})" for one in names for other in names]
    module = "fray" if direction else "ray"
    program = tmp_path / "program.py"
    program.write_text(
        "\n".join([f"import {module}", *[f"{name} = None" for name in names], "while True:", *lines, ""])
    )
    done = migrate(*direction, "--check", program)
    assert done.returncode in (0, 1), done.stderr


def test_a_variable_that_is_made_of_another_over_thousands_of_steps_is_refused_in_one_sentence(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    lines = [f"x{i} = x{i + 1}" for i in range(3000)]
    text = "\n".join(["import ray", *lines, "x3000 = ray.put(1)", "print(ray.get(x0))", ""])
    program.write_text(text)
    done = migrate(program)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("fray migrate: the variables of these programs are made of one another")
    assert program.read_text() == text


def test_a_variable_that_is_made_of_another_over_a_hundred_steps_is_followed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    lines = [f"x{i} = x{i - 1}" for i in range(1, 100)]
    program.write_text("\n".join(["import ray", "x0 = ray.put(1)", *lines, "print(ray.get(x99))", ""]))
    assert migrate(program).returncode == 0
    assert "ctx.get(x99)" in program.read_text()
