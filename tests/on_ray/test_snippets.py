"""The Python snippets of the documents that Fray was written to: run on Ray, and natively where they can."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fray
import pytest

from tests.on_ray.head import ROOT, RayHead
from tests.snippets.fixtures import fixtures
from tests.snippets.snippets import KINDS, Snippet, load

SNIPPETS = load()
RAY_ALONE = ("ray", "cluster", "RayClient", "build_runtime_env", "a project", "remote")
MARKS = (pytest.mark.ray, pytest.mark.filterwarnings("default"), pytest.mark.timeout(180))


def is_for_native(snippet: Snippet) -> bool:
    return not any(word in f"{snippet.code} {' '.join(snippet.needs)}" for word in RAY_ALONE)


def runs() -> list[object]:
    found: list[object] = []
    for snippet in SNIPPETS:
        if snippet.kind == "fragment" or "own process" in snippet.needs:
            continue
        found.append(pytest.param("ray", snippet, id=f"ray-{snippet.id}", marks=MARKS))
        if is_for_native(snippet):
            found.append(pytest.param("native", snippet, id=f"native-{snippet.id}"))
    return found


@pytest.fixture(scope="module")
def native_context() -> Iterator[fray.JobContext]:
    with fray.create_job_ctx("native", cpus=2, resources={"TPU": 4}) as context:
        yield context


@pytest.fixture(scope="module")
def tpu_node(initialised_ray: RayHead) -> Iterator[None]:
    """A raylet with a CPU and pretended chips."""
    number = initialised_ray.add_node({"CPU": 1, "TPU": 4})
    yield
    initialised_ray.kill_node(number)


@pytest.fixture
def context(place: str, snippet: Snippet, request: pytest.FixtureRequest) -> Iterator[fray.JobContext]:
    if place == "native":
        context = request.getfixturevalue("native_context")
    else:
        request.getfixturevalue("initialised_ray")
        if "pretended TPU" in snippet.needs:
            request.getfixturevalue("tpu_node")
        context = fray.create_job_ctx("ray", namespace="snippets")
    with fray.fray_default_job_ctx(context):
        yield context
        for entry in context.list_named_actors(all_namespaces=True):
            context.kill(context.get_actor(**entry))
    fray.set_job_context(None)


@pytest.mark.parametrize(("place", "snippet"), runs())
def test_snippet_runs(
    place: str, snippet: Snippet, context: fray.JobContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    made = fixtures(context, tmp_path)
    names: dict[str, object] = {"__name__": "snippet"}
    for need in snippet.needs:
        names.update(made[need]())
    compiled = compile(snippet.code, f"snippet {snippet.id}", "exec")
    if snippet.raises:
        with pytest.raises(getattr(__builtins__, snippet.raises, TypeError)):
            exec(compiled, names)
        return
    exec(compiled, names)
    for name, value in list(names.items()):
        if name.startswith("test_") and inspect.isfunction(value):
            value(*[None] * len(inspect.signature(value).parameters))


@pytest.mark.ray
@pytest.mark.long
@pytest.mark.parametrize("snippet", [pytest.param(one, id=one.id) for one in SNIPPETS if "own process" in one.needs])
def test_snippet_that_starts_ray_itself_runs(snippet: Snippet):
    needs = [name for name in snippet.needs if name not in ("own process", "os")]
    program = (
        "import os, sys, fray\nfrom pathlib import Path\nfrom tests.snippets.fixtures import fixtures\n"
        "names = {'os': os}\nmade = fixtures(None, Path('.'))\n"
        f"for need in {needs!r}:\n    names.update(made[need]())\n"
        f"exec(compile({snippet.code!r}, 'snippet', 'exec'), names)\n"
        "for name, value in list(names.items()):\n"
        "    if name.startswith('test_'):\n        value()\n"
        "import ray\nassert ray.is_initialized()\nray.shutdown()\nprint('done')\n"
    )
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_ADDRESS": ""}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.stdout.endswith("done\n"), done.stderr[-2000:]


def test_every_snippet_is_of_a_kind():
    for snippet in SNIPPETS:
        assert snippet.kind in KINDS
        if snippet.kind == "fragment":
            assert snippet.why, f"{snippet.id} does not say what is missing"
            assert is_incomplete(snippet), f"{snippet.id} has all that it names"
        else:
            ast.parse(snippet.code)


def is_incomplete(snippet: Snippet) -> bool:
    """Return whether a fragment is no Python, is cut short, or names what it says is undefined."""
    try:
        ast.parse(snippet.code)
    except SyntaxError:
        return True
    return "..." in snippet.code or (
        bool(snippet.undefined) and all(name in snippet.code for name in snippet.undefined)
    )
