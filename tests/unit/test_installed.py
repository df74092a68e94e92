"""Whether the driver has what a runtime environment asks for."""

from __future__ import annotations

from pathlib import Path

import pytest
from fray._installed import all_installed


def install(folder: Path, name: str, version: str, *requires: str) -> None:
    about = folder / f"{name}-{version}.dist-info"
    about.mkdir(parents=True)
    lines = "".join(f"Requires-Dist: {line}\n" for line in requires)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{lines}")


@pytest.fixture(autouse=True)
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "zz_one", "1.5")
    install(tmp_path, "zz_two", "2.0", "zz-one>=1", 'zz-absent; extra == "more"', 'zz-never; python_version < "3"')
    install(tmp_path, "zz_three", "3.0rc1", "zz-two>=9")
    install(tmp_path, "zz_round", "1.0", "zz-circle")
    install(tmp_path, "zz_circle", "1.0", "zz-round")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["zz-one"],
        ["zz_One>=1,<2"],
        ["zz-two"],
        ["zz-one", "zz-two==2.0"],
        ["zz-round"],
        ['zz-absent; python_version < "3"'],
    ],
)
def test_what_is_there_is_found_with_what_it_needs(lines: list[str]) -> None:
    assert all_installed(lines)


@pytest.mark.parametrize(
    "lines",
    [
        ["zz-absent"],
        ["zz-one>=2"],
        ["zz-two[more]"],
        ["zz-three"],
        ["zz-one", "zz-absent"],
        ["zz-one @ file:///somewhere/zz_one.whl"],
        ["./zz_one.whl"],
        ["--index-url http://127.0.0.1/"],
        ["=="],
    ],
)
def test_what_is_not_there_is_not(lines: list[str]) -> None:
    assert not all_installed(lines)
