"""The spans of a program on the native engine: which there are, and whose children they are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.traces.conftest import Collector, Run, Spans, spans_of

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"

WAITS = """
import pathlib
import time
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor


class Notes(SpanProcessor):
    def on_start(self, span, parent_context=None):
        if span.name.startswith("get "):
            pathlib.Path(span.name).touch()


def note_waits():
    trace.get_tracer_provider().add_span_processor(Notes())


def until_waited_for(name):
    # A wait has a span where the result is not there yet, so a task ends when the wait for it has begun.
    while not pathlib.Path(f"get {name}").exists():
        time.sleep(0.001)
"""

TASKS = (
    WAITS
    + """
import threading
import fray


def leaf(number):
    with trace.get_tracer("mine").start_as_current_span("own work"):
        until_waited_for("leaf")
        return number + 1


def branch(number):
    until_waited_for("branch")
    note_waits()
    ctx = fray.get_job_context()
    return ctx.get(ctx.run(leaf, number))


def fails():
    until_waited_for("fails")
    raise ValueError("no stock")


def items(count):
    for number in range(count):
        with trace.get_tracer("mine").start_as_current_span(f"item {number}"):
            yield number


def main():
    ctx = fray.init(cpus=2)
    note_waits()
    with trace.get_tracer("mine").start_as_current_span("program"):
        print(ctx.get(ctx.run(branch, 1)))
        print([ctx.get(item) for item in ctx.run(items, 2)])
        try:
            ctx.get(ctx.run(fails))
        except ValueError as error:
            print(error)
        refs = [ctx.run(pow, 2, power, name="power") for power in range(3)]
        ctx.wait(refs, num_returns=3)
        try:
            ctx.run(leaf, threading.Lock())
        except fray.SerializationError:
            print("refused")


if __name__ == "__main__":
    main()
"""
)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Spans:
    return spans_of(tmp_path_factory.mktemp("tasks"), TASKS)


def test_tasks_are_spans_of_one_trace_from_the_program_to_the_users_own(tasks: Spans) -> None:
    spans = tasks
    assert spans.output == "2\n[0, 1]\nno stock\nrefused\n"
    assert spans.line("own work") == ["own work", "run leaf", "submit leaf", "run branch", "submit branch", "program"]
    assert len({span.trace for span in spans.all}) == 1
    sent, ran = spans.one("submit branch"), spans.one("run branch")
    assert (sent.kind, ran.kind) == ("producer", "consumer")
    assert sent.pid != ran.pid
    assert sent.began <= ran.began <= ran.ended
    assert sent.attributes["messaging.message.id"] == ran.attributes["messaging.message.id"]
    assert ran.attributes["messaging.system"] == "fray"
    assert ran.attributes["messaging.operation.type"] == "process"
    assert ran.attributes["messaging.destination.name"] == "branch"
    assert ran.attributes["code.function.name"] == "__main__.branch"
    assert {span.service for span in spans.all} == {"program.py"}


def test_waits_are_spans_with_links_to_what_they_wait_for(tasks: Spans) -> None:
    spans = tasks
    waits = spans.one("get branch")
    assert waits.kind == "internal"
    assert waits.links == [spans.one("submit branch").id]
    assert spans.parent(waits).name == "program"
    inner = spans.one("get leaf")
    assert spans.parent(inner).name == "run branch"
    sent = {span.id for span in spans.named("submit power")}
    assert all(set(wait.links) == sent for wait in spans.named("wait power"))
    assert len(sent) == 3


def test_failed_tasks_and_refused_calls_are_failed_spans(tasks: Spans) -> None:
    spans = tasks
    failed = spans.one("run fails")
    assert failed.error == "ValueError: no stock"
    assert failed.attributes["error.type"] == "ValueError"
    assert failed.events == ["exception"]
    refused = [span for span in spans.named("submit leaf") if span.error is not None]
    assert [span.attributes["error.type"] for span in refused] == ["fray.errors.SerializationError"]
    raised = {span.name: span.error for span in spans.all if span.error and span not in refused}
    assert raised == {"run fails": "ValueError: no stock", "get fails": "ValueError: no stock"}


def test_users_spans_inside_a_generator_are_children_of_its_span(tasks: Spans) -> None:
    spans = tasks
    for number in range(2):
        assert spans.line(f"item {number}") == [f"item {number}", "run items", "submit items", "program"]


ACTORS = """
import asyncio
import fray
from opentelemetry import trace


def note(text):
    with trace.get_tracer("mine").start_as_current_span(text):
        pass


def leaf():
    return 1


class Counter:
    def __init__(self, start):
        note("in the constructor")
        self.value = start

    def add(self, number):
        self.value += number
        return fray.get_job_context().get(fray.get_job_context().run(leaf)) + self.value

    def fails(self):
        raise KeyError("gone")


class Loop:
    def __init__(self):
        self.released = asyncio.Event()

    async def first(self):
        await self.released.wait()
        note("after the wait")
        return 1

    async def second(self):
        note("while the first waits")
        self.released.set()
        return 2

    async def items(self):
        for number in range(2):
            await asyncio.sleep(0)
            note(f"item {number}")
            yield number


def main():
    ctx = fray.init(cpus=2)
    counter = ctx.create_actor(Counter, 5)
    print(ctx.get(counter.add(3)))
    try:
        ctx.get(counter.fails())
    except KeyError:
        print("failed")
    loop = ctx.create_actor(Loop)
    first = loop.first()
    print(ctx.get([loop.second(), first]))
    print([ctx.get(item) for item in loop.items()])


if __name__ == "__main__":
    main()
"""


def test_actors_and_their_calls_are_spans_and_calls_side_by_side_keep_apart(traced: Callable[..., Spans]) -> None:
    spans = traced(ACTORS)
    assert spans.output == "9\nfailed\n[2, 1]\n[0, 1]\n"
    assert spans.line("in the constructor") == ["in the constructor", "run Counter", "create Counter"]
    assert spans.line("run leaf") == ["run leaf", "submit leaf", "run Counter.add", "call Counter.add"]
    assert spans.one("run Counter.fails").error == "KeyError: 'gone'"
    assert spans.line("after the wait") == ["after the wait", "run Loop.first", "call Loop.first"]
    assert spans.line("while the first waits") == ["while the first waits", "run Loop.second", "call Loop.second"]
    for number in range(2):
        assert spans.line(f"item {number}") == [f"item {number}", "run Loop.items", "call Loop.items"]
    assert spans.one("run Loop.first").ended > spans.one("run Loop.second").began


AWAITS = """
import asyncio
import pathlib
import time
import fray
from opentelemetry import trace


def passes(gate):
    while not gate.exists():
        time.sleep(0.001)


def leaf(number, gate=None):
    if gate:
        passes(gate)
    return number + 1


def fails(gate):
    passes(gate)
    raise ValueError("no stock")


async def opens(gate):
    gate.touch()


async def first(awaited):
    return await awaited


class Loop:
    async def asks(self):
        gate = pathlib.Path("asked").absolute()
        # The gate opens when the coroutine before it waits, so the result cannot be there already.
        answer, _ = await asyncio.gather(first(fray.get_job_context().run(leaf, 1, gate)), opens(gate))
        return answer


async def many(ctx):
    tracer = trace.get_tracer("mine")
    gate = pathlib.Path("gathered").absolute()

    async def one(number):
        with tracer.start_as_current_span(f"coroutine {number}"):
            return await ctx.run(leaf, number, gate)

    *answers, _ = await asyncio.gather(*map(one, range(2)), opens(gate))
    print(answers)
    gate = pathlib.Path("failing").absolute()
    error, _ = await asyncio.gather(first(ctx.run(fails, gate)), opens(gate), return_exceptions=True)
    print(error)
    done = ctx.run(leaf, 5)
    ctx.wait([done])
    print(await done)


def main():
    ctx = fray.init(cpus=2)
    print(ctx.get(ctx.create_actor(Loop).asks()))
    with trace.get_tracer("mine").start_as_current_span("program"):
        asyncio.run(many(ctx))


if __name__ == "__main__":
    main()
"""


def test_a_coroutine_that_awaits_a_ref_has_a_span_of_the_wait(traced: Callable[..., Spans]) -> None:
    spans = traced(AWAITS)
    assert spans.output == "2\n[1, 2]\nno stock\n6\n"
    waits = {spans.parent(span).name: span for span in spans.named("get leaf")}
    assert sorted(waits) == ["coroutine 0", "coroutine 1", "run Loop.asks"], "and none for what was there already"
    for parent, wait in waits.items():
        (sent,) = [span for span in spans.named("submit leaf") if span.parent == wait.parent]
        assert wait.links == [sent.id], parent
    failed = spans.one("get fails")
    assert (failed.error, spans.parent(failed).name) == ("ValueError: no stock", "program")


RETRIES = """
import os
import fray


def flaky(path):
    with open(path, "a") as file:
        file.write("x")
    if os.path.getsize(path) < 3:
        raise OSError("not yet")
    return "done"


def main():
    ctx = fray.init(cpus=1)
    print(ctx.get(ctx.create_task(flaky, ("tries",), options=fray.TaskOptions(retry_exceptions=True))))


if __name__ == "__main__":
    main()
"""


def test_each_attempt_of_a_task_is_a_span_of_its_own(traced: Callable[..., Spans]) -> None:
    spans = traced(RETRIES, TRACEPARENT=f"00-{TRACE}-{PARENT}-01")
    attempts = sorted(spans.named("run flaky"), key=lambda span: span.began)
    assert [span.error for span in attempts] == ["OSError: not yet", "OSError: not yet", None]
    assert [span.attributes.get("fray.attempt") for span in attempts] == [None, "1", "2"]
    sent = spans.one("submit flaky")
    assert {span.parent for span in attempts} == {sent.id}
    assert (sent.trace, sent.parent) == (TRACE, PARENT), "the trace of the environment goes on in the program"


def test_trace_that_is_not_sampled_is_not_exported(traced: Callable[..., Spans]) -> None:
    assert traced(RETRIES, TRACEPARENT=f"00-{TRACE}-{PARENT}-00").all == []


LOCAL = """
import fray
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

memory = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(memory))
trace.set_tracer_provider(provider)


def leaf(number):
    return number + 1


def branch(number):
    ctx = fray.get_job_context()
    return ctx.get(ctx.run(leaf, number))


def items():
    yield 1
    raise ValueError("enough")


class Counter:
    async def add(self, number):
        return number


for context in (fray.SyncContext(), fray.ThreadContext(2)):
    with context:
        assert context.get(context.run(branch, 1)) == 2
        assert context.get(context.create_actor(Counter).add(4)) == 4
        try:
            print([context.get(item) for item in context.run(items)])
        except ValueError:
            pass
    spans = {span.name: span for span in memory.get_finished_spans() if span.name.partition(" ")[0] in SENT}
    ids = {span.context.span_id: span.name for span in spans.values()}
    for name in sorted(spans):
        parent = spans[name].parent
        print(name, "<-", ids[parent.span_id] if parent else "nobody", spans[name].status.description or "")
    memory.clear()
""".replace("SENT", "('submit', 'run', 'call', 'create')")


def test_contexts_in_the_process_make_the_same_spans_for_the_users_own_exporter(run: Run) -> None:
    done = run(LOCAL, FRAY_OTEL="1")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    expected = [
        "call Counter.add <- nobody ",
        "create Counter <- nobody ",
        "run Counter <- create Counter ",
        "run Counter.add <- call Counter.add ",
        "run branch <- submit branch ",
        "run items <- submit items ValueError: enough",
        "run leaf <- submit leaf ",
        "submit branch <- nobody ",
        "submit items <- nobody ",
        "submit leaf <- run branch ",
    ]
    assert done.stdout.splitlines() == expected * 2


DEATH = (
    WAITS
    + """
import os
import signal
import fray


def dies():
    until_waited_for("dies")
    os.kill(os.getpid(), signal.SIGKILL)


def main():
    ctx = fray.init(cpus=1)
    note_waits()
    try:
        ctx.get(ctx.create_task(dies, options=fray.TaskOptions(max_retries=0)))
    except fray.WorkerDiedError:
        print("died")


if __name__ == "__main__":
    main()
"""
)


def test_task_whose_worker_dies_has_no_span_and_who_waits_for_it_has_one_that_says_so(
    traced: Callable[..., Spans],
) -> None:
    spans = traced(DEATH)
    assert spans.output == "died\n"
    assert spans.named("run dies") == []
    assert spans.one("submit dies").error is None
    waited = spans.one("get dies")
    assert waited.attributes["error.type"] == "fray.errors.WorkerDiedError"
    assert waited.links == [spans.one("submit dies").id]


MANY = """
import fray
from opentelemetry import trace


def busy():
    for number in range(3000):
        with trace.get_tracer("mine").start_as_current_span("own work"):
            pass


def main():
    ctx = fray.init(cpus=1)
    ctx.get(ctx.run(busy))


if __name__ == "__main__":
    main()
"""


def test_spans_that_are_lost_are_said_and_the_last_one_of_a_worker_is_waited_for(
    run: Run, collector: Collector
) -> None:
    few = {"OTEL_BSP_MAX_QUEUE_SIZE": "16", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "8"}
    done = run(MANY, FRAY_OTEL="1", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **few)
    assert done.returncode == 0
    assert done.stderr.count("fray: spans end faster than they are exported") == 1
    assert done.stderr.count("\n") == 1
    spans = Spans(collector.spans)
    assert spans.line("run busy") == ["run busy", "submit busy"]
    assert len(spans.named("own work")) < 3000


def test_an_interrupt_as_a_span_becomes_the_current_one_leaves_no_span_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    from fray._trace_recorder import _current
    from opentelemetry import context, trace

    attach, interrupts = context.attach, [KeyboardInterrupt]

    def attach_and_raise(surroundings: context.Context) -> object:
        token = attach(surroundings)
        if interrupts:
            raise interrupts.pop()
        return token

    before = context.get_current()
    monkeypatch.setattr(context, "attach", attach_and_raise)
    with pytest.raises(KeyboardInterrupt), _current(trace.INVALID_SPAN):
        pass
    assert context.get_current() == before
