"""`make build-times`: what the last compilation of each unit in build/dev took, and which headers it read most of.

build_times.py [FOLDER] [--total] [--rows N]     FOLDER is a build folder of CMake's with Ninja; build/dev without it

Times are those of ninja's log, in seconds of one core while other units were compiled beside it. A unit that ccache
had already takes nearly none, so figures to compare come from `make clean` and `CCACHE_DISABLE=1 make build`. The
lines of a header are counted once for each unit that reads it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def unit_seconds(folder: Path) -> dict[str, float]:
    """The seconds of the newest compilation of each object; links and other steps are left out."""
    command = ["ninja", "-C", folder, "-t", "targets", "all"]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    present = {line.rpartition(": ")[0] for line in listing.splitlines()}
    seconds: dict[str, float] = {}
    for line in (folder / ".ninja_log").read_text().splitlines()[1:]:
        begin_ms, end_ms, _, output, _ = line.split("\t")
        if output.endswith(".o") and output in present:
            seconds[output] = (int(end_ms) - int(begin_ms)) / 1000
    return seconds


def unit_headers(folder: Path) -> dict[str, list[str]]:
    """The files that each object was compiled from, as ninja remembers them."""
    listing = subprocess.run(["ninja", "-C", folder, "-t", "deps"], check=True, capture_output=True, text=True).stdout
    read: dict[str, list[str]] = {}
    for line in listing.splitlines():
        if line.startswith("    "):
            next(reversed(read.values())).append(line.strip())
        elif ": #deps" in line:
            read[line.split(": #deps")[0]] = []
    return read


def short_name(output: str) -> str:
    """`src/CMakeFiles/fray_node.dir/units/node_0.cc.o` as `fray_node: units/node_0.cc`."""
    target, _, name = output.partition(".dir/")
    return f"{target.rpartition('/')[2]}: {name.removesuffix('.o')}"


def header_lines(read: dict[str, list[str]]) -> Counter[str]:
    """How many lines of each file the compiler read in all."""
    times = Counter(name for names in read.values() for name in names)
    total: Counter[str] = Counter()
    for name, count in times.items():
        try:
            total[name] = count * Path(name).read_bytes().count(b"\n")
        except OSError:
            continue
    return total


def header_families(lines: Counter[str]) -> Counter[str]:
    """The same by library: all of Boost's files count as one."""
    families: Counter[str] = Counter()
    for name, count in lines.items():
        parts = Path(name).parts
        if "include" in parts and name.startswith("/usr"):
            rest = parts[parts.index("include") + 1 :]
            families[f"<{rest[0]}>" if rest[0] != "c++" else "<C++ library>"] += count
        elif str(ROOT) not in str((ROOT / name).resolve()):
            families["<other>"] += count
    return families


def table(title: str, rows: list[tuple[str, str]]) -> str:
    return "\n".join([title, *(f"{value:>12}  {name}" for value, name in rows)])


def main() -> int:
    parser = argparse.ArgumentParser(description="Prints what each unit took to compile, and the headers it read.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "dev")
    parser.add_argument("--total", action="store_true", help="print the total only")
    parser.add_argument("--rows", type=int, default=20, help="rows of each table (20)")
    options = parser.parse_args()
    if not (options.folder / ".ninja_log").exists():
        print(f"fray: {options.folder} has not been built yet; run: make build")
        return 3
    seconds = unit_seconds(options.folder)
    total = f"compiled {len(seconds)} units in {sum(seconds.values()):.0f} s of core time"
    if options.total:
        print(total)
        return 0
    read = unit_headers(options.folder)
    own = Counter({name: count for name, count in header_lines(read).items() if not name.startswith("/usr")})
    slowest = sorted(seconds.items(), key=lambda item: -item[1])[: options.rows]
    print(table("Seconds of the slowest units:", [(f"{value:.1f}", short_name(name)) for name, value in slowest]))
    print()
    print(
        table(
            "Lines read of each library, over all units:",
            [(f"{count:,}", name) for name, count in header_families(header_lines(read)).most_common(options.rows)],
        )
    )
    print()
    print(
        table(
            "Lines read of our own files, over all units:",
            [(f"{count:,}", name) for name, count in own.most_common(options.rows)],
        )
    )
    print(f"\n{total}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
