"""A terminal, a file and a notebook each get what they can show."""

from __future__ import annotations

import io
import sys
from types import ModuleType, SimpleNamespace

import fray
import pytest
from fray import _progress_views
from fray._progress_views import LineView, NotebookView, TerminalView, summary
from fray._quiet_stream import QuietStream


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def refs_of(ctx: fray.JobContext, n: int):
    return [ctx.run(abs, number) for number in range(n)]


def test_file_gets_few_plain_lines():
    out = io.StringIO()
    ctx = fray.LocalJobContext()
    refs = refs_of(ctx, 1000)
    assert fray.progress(refs, context=ctx, stream=out) == refs
    text = out.getvalue()
    assert 1 <= text.count("\n") <= 12
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "tasks 1000/1000" in text


def test_lines_come_once_a_tenth():
    out = io.StringIO()
    view = LineView(QuietStream(out), "files")
    for done in range(0, 1000, 3):
        view.show(done, 1000, 1.0)
    view.close(1000, 1000, 2.0)
    assert out.getvalue().count("\n") <= 11
    assert out.getvalue().endswith("files 1000/1000 · 500/s · 2.0 s\n")


def test_terminal_gets_one_line_within_its_width(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_progress_views, "_columns", lambda stream: 40)
    out = Terminal()
    view = TerminalView(QuietStream(out), "a very long label that is wider than the terminal")
    view.show(1, 3, 1.0)
    view.close(3, 3, 2.0)
    pictures = out.getvalue().split("\r\x1b[K")
    assert all(len(picture.rstrip("\n")) < 40 for picture in pictures)
    assert out.getvalue().count("\n") == 1


def test_terminal_shows_a_bar():
    out = Terminal()
    ctx = fray.LocalJobContext()
    fray.progress(refs_of(ctx, 3), context=ctx, stream=out)
    assert "[####" in out.getvalue()


def test_notebook_updates_one_display(monkeypatch: pytest.MonkeyPatch):
    shown = []

    class Handle:
        def update(self, picture: str) -> None:
            shown.append(picture)

    def display(picture: str, display_id: bool) -> Handle:
        shown.append(picture)
        return Handle()

    package, module = ModuleType("IPython"), ModuleType("IPython.display")
    module.HTML, module.display = str, display  # type: ignore[attr-defined]
    package.display = module  # type: ignore[attr-defined]
    package.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    assert NotebookView.available()
    ctx = fray.LocalJobContext()
    fray.progress(refs_of(ctx, 2), label="<b>", context=ctx)
    assert '<progress value="2" max="2">' in shown[-1]
    assert "&lt;b&gt; 2/2" in shown[-1]


def test_generators_of_refs_are_taken_with_a_total():
    ctx = fray.LocalJobContext()
    out = io.StringIO()
    refs = fray.progress((ctx.run(abs, n) for n in range(5)), total=5, context=ctx, stream=out)
    assert ctx.get(refs) == [0, 1, 2, 3, 4]
    assert fray.progress([], context=ctx, stream=out) == []


def test_summary_has_no_control_characters():
    assert summary("a\x1b[31m\nb", 1, 4, 2.0, last=False) == "a [31m b 1/4 · 0.5/s · 6.0 s left"
    assert summary("x", 0, None, 0.0, last=False) == "x 0"
    assert summary("x", 7200, 7200, 7205.0, last=True) == "x 7200/7200 · 0.999/s · 2 h 00 min"


def test_any_iterable_is_counted_as_the_loop_goes_on():
    out = io.StringIO()
    assert list(fray.progress(range(10), label="files", stream=out)) == list(range(10))
    assert "files 10/10" in out.getvalue()


def test_the_results_of_a_map_are_counted_and_come_as_they_are_there():
    out = io.StringIO()
    ctx = fray.LocalJobContext()
    results = fray.progress(ctx.map(abs, [-1, 2, -3]), total=3, stream=out)
    assert next(iter(results)) == 1
    assert list(results) == [2, 3]
    assert "items 3/3" in out.getvalue()


def test_an_endless_iterable_is_asked_for_no_more_than_is_taken():
    taken = []

    def numbers():
        while True:
            taken.append(len(taken))
            yield taken[-1]

    out = io.StringIO()
    for number in fray.progress(numbers(), stream=out):
        if number == 4:
            break
    assert taken == [0, 1, 2, 3, 4]
    assert "items 4" in out.getvalue()


def test_what_the_iterable_raises_comes_out_and_the_count_stands():
    def broken():
        yield 1
        yield 2
        raise LookupError("no more")

    out = io.StringIO()
    with pytest.raises(LookupError, match="no more"):
        list(fray.progress(broken(), stream=out))
    assert out.getvalue().startswith("items 2")


@pytest.mark.parametrize("nothing", [[], (), {}, iter(()), range(0)])
def test_nothing_at_all_needs_no_context(nothing: object):
    fray.set_job_context(None)
    out = io.StringIO()
    assert list(fray.progress(nothing, stream=out)) == []  # type: ignore[call-overload]
    assert "0/0" in out.getvalue() or "tasks 0" in out.getvalue()


def test_refs_of_a_generator_are_waited_for():
    out = io.StringIO()
    ctx = fray.LocalJobContext()
    refs = fray.progress((ctx.run(abs, -n) for n in range(4)), context=ctx, stream=out)
    assert ctx.get(refs) == [0, 1, 2, 3]
    assert "tasks 4/4" in out.getvalue()


def test_an_item_may_go_when_the_loop_lets_go_of_it():
    import gc
    import weakref

    class Item:
        pass

    for item in fray.progress((Item() for _ in range(3)), stream=io.StringIO()):
        seen = weakref.ref(item)
        del item
        gc.collect()
        assert seen() is None


class Broken(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


class WriteOnly:
    """No more than `print` asks of a file."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None: ...


def closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [Broken(), closed(), WriteOnly()], ids=["broken", "closed", "write only"])
def test_a_loop_goes_on_whatever_becomes_of_the_stream(stream: io.StringIO):
    ctx = fray.LocalJobContext()
    assert list(fray.progress(range(3), stream=stream)) == [0, 1, 2]
    assert len(fray.progress(refs_of(ctx, 3), context=ctx, stream=stream)) == 3


def test_a_stream_may_be_closed_in_the_middle():
    stream = Terminal()
    seen: list[int] = []
    for item in fray.progress(range(3), stream=stream):
        seen.append(item)
        stream.close()
    assert seen == [0, 1, 2]


def test_a_program_without_standard_error_shows_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert list(fray.progress(range(3))) == [0, 1, 2]


def test_what_an_encoding_lacks_is_replaced():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    assert list(fray.progress(range(2), label="Größe", stream=stream)) == [0, 1]
    assert raw.getvalue().startswith(b"Gr??e 2/2 ? ")


def test_a_ref_may_come_more_than_once():
    ctx = fray.LocalJobContext()
    out = io.StringIO()
    (ref,) = refs_of(ctx, 1)
    assert fray.progress([ref, ref], context=ctx, stream=out) == [ref, ref]
    assert "tasks 2/2" in out.getvalue()


@pytest.mark.parametrize(
    ("given", "error"),
    [({"total": -1}, ValueError), ({"total": "3"}, TypeError), ({"total": 2.5}, TypeError), ({"label": 5}, TypeError)],
)
def test_odd_totals_and_labels_are_refused_before_anything_is_taken(given: dict, error: type[Exception]):
    items = iter(range(3))
    with pytest.raises(error, match="progress: "):
        fray.progress(items, **given)
    assert next(items) == 0
