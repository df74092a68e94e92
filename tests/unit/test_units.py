from __future__ import annotations

import pytest
from fray._units import amount_text, bytes_text, parse_bytes


@pytest.mark.parametrize(
    ("text", "amount"),
    [("1", 1), ("4GiB", 4 << 30), ("512 MB", 512 * 10**6), ("1.5k", 1536), ("2g", 2 << 30), (7, 7), (8.0, 8)],
)
def test_amounts_are_read(text, amount: int):
    assert parse_bytes(text, "memory") == amount


@pytest.mark.parametrize(("text", "amount"), [("8gb", 8 << 30), ("1 MB", 1 << 20), ("2kib", 2048), ("3b", 3), ("7", 7)])
def test_units_are_powers_of_two_where_asked(text: str, amount: int):
    assert parse_bytes(text, "ram", binary=True) == amount


@pytest.mark.parametrize("text", ["", "much", "4XB", "-1", "1e3", 0, -5, float("nan"), "0", 10**400, "1" + 400 * "0"])
def test_other_amounts_are_refused_with_the_name_of_the_setting(text):
    with pytest.raises(ValueError, match="memory"):
        parse_bytes(text, "memory")


@pytest.mark.parametrize("value", [True, None, [1]])
def test_other_types_are_refused(value):
    with pytest.raises(TypeError, match="memory"):
        parse_bytes(value, "memory")


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0 B"), (1000, "1000 B"), (1024, "1.0 KiB"), (25_276_500_000, "23.5 GiB"), (-(1 << 29), "-512.0 MiB")],
)
def test_bytes_are_told_in_the_unit_that_people_would_write(amount: int, text: str):
    assert bytes_text(amount) == text


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [("memory", 1 << 33, "8.0 GiB"), ("CPU", 2.0, "2"), ("GPU", 0.25, "0.25"), ("licence", 25_000_000, "25000000")],
)
def test_only_memory_is_told_in_bytes(resource: str, amount: float, text: str):
    assert amount_text(resource, amount) == text
