"""What becomes of all blocks: the five documents' books together."""

from __future__ import annotations

from collections.abc import Iterator

from tests.snippets import document_000, document_001, document_002, document_003, document_004
from tests.snippets.programs import Book, Program

__all__ = ["BOOKS", "programs"]

BOOKS: tuple[Book, ...] = tuple(
    document.book for document in (document_000, document_001, document_002, document_003, document_004)
)


def programs(places: tuple[str, ...]) -> Iterator[tuple[str, Program, str]]:
    """Yield a name, a program and a place for each place of `places` that a program runs at."""
    for book in BOOKS:
        for key, program in book.programs.items():
            yield from ((f"{key}-{place}", program, place) for place in program.places if place in places)
