"""`Answers`: the least fixed point of questions about a program that may depend on themselves.

The kind of a variable may depend on what a function returns, which may depend on that variable again. Of all answers
that agree with each other the least one is wanted: a question that leads back to itself adds nothing to its answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Answers"]

Answer = TypeVar("Answer")

_MOST_ROUNDS = 4
"""Most rounds of one question: the answer for a list that contains itself would grow in each round, without end."""


class Answers(Generic[Answer]):
    """Finds answers by fixed-point iteration, and remembers each by the number of its question.

    A question that is asked while it is being answered gets its answer of the previous round; in the first round that
    is `nothing`, the answer that adds nothing to any other. Within a round every question is answered once, so that the
    work of a round grows with the number of questions, not with the number of paths between them. The rounds end when
    all answers that a round took from the previous one are also the answers that it has found.

    Args:
        nothing: the neutral answer.
    """

    def __init__(self, nothing: Answer) -> None:
        self._nothing = nothing
        self._known: dict[int, Answer] = {}
        self._found: dict[int, Answer] = {}  # in this round
        self._before: dict[int, Answer] = {}  # in the previous round
        self._open: set[int] = set()
        self._guessed: set[int] = set()  # questions of this round that were asked while they were open

    def clear(self) -> None:
        """Forget all answers."""
        self._known.clear()

    def of(self, question: int, find: Callable[[], Answer]) -> Answer:
        """Return the answer of `question`; `find` computes the answer, and may ask other questions."""
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
