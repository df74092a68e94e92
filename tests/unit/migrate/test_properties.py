"""Whatever a program looks like: what is written parses, and a second run changes nothing."""

from __future__ import annotations

import ast
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.unit.migrate.moving import migrate

NAMES = st.sampled_from(["f", "g", "A", "h", "refs", "value"])
OPTIONS = st.sampled_from(
    [
        "",
        "num_cpus=1",
        "num_cpus=N, name='x'",
        "resources={'r': 1}",
        "max_retries=0, memory=8",
        "**more",
        "num_returns=2",
    ]
)


def expressions() -> st.SearchStrategy[str]:
    leaves = st.one_of(NAMES, st.sampled_from(["1", "'ray.get'", "None", "[f, g]", "lambda: f.remote(1)"]))

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.builds("ray.get({})".format, inner),
            st.builds("ray.put({})".format, inner),
            st.builds("ray.wait([{}], timeout=1)".format, inner),
            st.builds("{}.remote({}, *refs, k={})".format, NAMES, inner, inner),
            st.builds("{}.options({}).remote({})".format, NAMES, OPTIONS, inner),
            st.builds("{}.m.remote({})".format, NAMES, inner),
            st.builds("[{} for h in {}]".format, inner, inner),
            st.builds("({} if {} else {})".format, inner, inner, inner),
            st.builds("ray.data.range({})".format, inner),
            st.builds("ray.remote({})".format, NAMES),
        )

    return st.recursive(leaves, larger, max_leaves=6)


def statements() -> st.SearchStrategy[str]:
    simple = st.one_of(
        st.builds("{} = {}".format, NAMES, expressions()),
        expressions(),
        st.sampled_from(
            ["import ray", "ray.init(num_cpus=2)", "ray.shutdown()", "pass  # nothing", "from ray import get"]
        ),
    )

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        body = st.lists(inner, min_size=1, max_size=3).map(lambda lines: "\n".join(lines).replace("\n", "\n    "))
        return st.one_of(
            st.builds("if {}:\n    {}".format, expressions(), body),
            st.builds("for {} in {}:  # over\n    {}".format, NAMES, expressions(), body),
            st.builds("@ray.remote\ndef {}(h, *refs, **more):\n    {}".format, NAMES, body),
            st.builds("@ray.remote({})  # so\ndef {}(x=1):\n    {}".format, OPTIONS, NAMES, body),
            st.builds("@ray.remote\nclass {}:\n    def m(self):\n        {}".format, NAMES, simple),
            st.builds(
                "try:\n    {}\nexcept ray.exceptions.RayTaskError as e:\n    print(e.cause)".format,
                body,
            ),
            st.builds("if value: {}\nelif {}:\n    {}".format, expressions(), expressions(), body),
        )

    return st.recursive(simple, larger, max_leaves=5)


PROGRAMS = st.lists(statements(), min_size=1, max_size=6).map(lambda lines: "import ray\n" + "\n".join(lines) + "\n")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PROGRAMS)
@example(  # what was held back stays so in a second run, though the first has made its cause go away
    "import ray\ntry:\n    ray.get(f)\nexcept ray.exceptions.RayTaskError as e:\n    print(e.cause)\n"
    "@ray.remote\ndef f(h, *refs, **more):\n    f = f\n@ray.remote\ndef f(h, *refs, **more):\n    ray.shutdown()\n"
)
def test_what_is_written_parses_and_is_not_changed_again(program: str) -> None:
    try:
        ast.parse(program)
    except SyntaxError:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        path.write_text(program)
        assert migrate(path).returncode == 0
        once = path.read_text()
        ast.parse(once)
        for comment in ("# nothing", "# over", "# so"):
            assert once.count(comment) == program.count(comment)
        assert migrate(path).returncode == 0
        assert path.read_text() == once
        assert migrate("--to-ray", path).returncode in (0, 1)
        ast.parse(path.read_text())


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=200))
def test_a_file_without_ray_keeps_its_bytes(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        path.write_bytes(text.encode())
        migrate(path)
        migrate("--to-ray", path)
        assert path.read_bytes() == text.encode()
