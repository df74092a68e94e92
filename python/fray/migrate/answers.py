"""`Answers`: questions about a program that may lead back to themselves, each answered once.

What a variable stands for may depend on what a function returns, and that on the variable again. The answer that is
looked for is the least one: a question that leads back to itself adds nothing to its own answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Answers"]

Answer = TypeVar("Answer")

_MOST_ROUNDS = 4
"""A list that contains itself would get a longer answer each time."""


class Answers(Generic[Answer]):
    """Remembers answers by the number of their question; `nothing` is the answer that adds nothing to another.

    A question that is asked while it is being answered gets its answer of the round before, at first `nothing`. All
    that is found in a round is used again in that round, so its work grows with the number of questions and not with
    that of the ways between them. Rounds follow each other until one that has used the answers which it has found.
    """

    def __init__(self, nothing: Answer) -> None:
        self._nothing = nothing
        self._known: dict[int, Answer] = {}
        self._found: dict[int, Answer] = {}  # in this round
        self._before: dict[int, Answer] = {}  # in the round before
        self._open: set[int] = set()
        self._guessed: set[int] = set()  # asked while they were open

    def clear(self) -> None:
        """Forget all answers."""
        self._known.clear()

    def of(self, question: int, find: Callable[[], Answer]) -> Answer:
        """Return the answer of `question`; `find` works it out, and may ask others."""
        for answers in (self._known, self._found):
            if question in answers:
                return answers[question]
        if question in self._open:
            self._guessed.add(question)
            return self._guess(question)
        return self._in_round(question, find) if self._open else self._in_rounds(question, find)

    def _guess(self, question: int) -> Answer:
        return self._before.get(question, self._nothing)

    def _in_round(self, question: int, find: Callable[[], Answer]) -> Answer:
        self._open.add(question)
        try:
            answer = self._found[question] = find()
        finally:
            self._open.discard(question)
        return answer

    def _in_rounds(self, question: int, find: Callable[[], Answer]) -> Answer:
        try:
            for _ in range(_MOST_ROUNDS):
                self._guessed.clear()
                self._in_round(question, find)
                if all(self._found[each] == self._guess(each) for each in self._guessed):
                    break
                self._before, self._found = self._found, {}
            self._known.update(self._found or self._before)
        finally:
            self._before, self._found = {}, {}
        return self._known[question]
