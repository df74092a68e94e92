"""Train a small language model on a GPU or a CPU, in a job that can be taken away at any time.

    python examples/train_lm.py --out DIR [--text FOLDER] [--steps N] [--gpu KIND]

    this program ──launch──▶ job train-lm ──▶ N times: batch_of ─▶ train_step ──▶ DIR/checkpoint.npz
          ▲                        │                                         └──▶ DIR/metrics.jsonl
          └──────── follow ────────┘ what it prints

The job runs wherever FRAY_CLUSTER_SPEC says: `local` (the default), `ray?address=…` or `iris?controller=http://…`. What
it needs to go on lies in DIR, which must be on a file system that all machines see. An attempt that dies is followed by
another, which continues at the checkpoint; the batch of a step depends on the seed and the step alone, so the losses
are those of a run that was never disturbed.

The model is in `language_model.py`; it needs JAX (`pip install 'fray[examples]'`).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import sysconfig
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import fray
import jax
import jax.numpy as jnp
import numpy as np
from following import run_and_follow
from fray.device_flops import device_flops_for_jax_device
from language_model import Settings, State, initial_state, loss_of, train_step
from numpy.typing import NDArray

TEXT_BYTES = 4 << 20
EVAL_BATCHES = 4
RETRIES = 3

Text = NDArray[np.uint8]


@dataclass(frozen=True)
class Config:
    """What is trained, on what; a report and a checkpoint come `every` so many steps."""

    model: Settings
    text: Path | None
    out: Path
    every: int

    @property
    def checkpoint(self) -> Path:
        return self.out / "checkpoint.npz"

    @property
    def compiled(self) -> Path:
        return self.out / "compiled"

    @property
    def metrics(self) -> Path:
        return self.out / "metrics.jsonl"


# ---- the data


def read_text(folder: Path | None) -> tuple[Text, Text]:
    """Return the first Python sources of a folder, by name: most to train on, the rest to evaluate on."""
    folder = folder or Path(sysconfig.get_path("stdlib"))
    pieces: list[bytes] = []
    for path in sorted(folder.glob("*.py")):
        pieces.append(path.read_bytes())
        if sum(map(len, pieces)) >= TEXT_BYTES:
            break
    text = np.frombuffer(b"\n".join(pieces)[:TEXT_BYTES], np.uint8)
    if len(text) < 10_000:
        raise ValueError(f"{folder} has {len(text):,} bytes in *.py files, too few to train on; choose another --text")
    cut = len(text) * 9 // 10
    return text[:cut], text[cut:]


def batch_of(model: Settings, text: Text, *key: int) -> Text:
    """Return the batch of a key, such as the number of a step: the same one in every attempt."""
    starts = np.random.default_rng((model.seed, *key)).integers(len(text) - model.context, size=model.batch)
    return text[starts[:, None] + np.arange(model.context + 1)]


# ---- what is kept


def save_checkpoint(path: Path, run: str, state: State) -> None:
    """Write a file that is there whole or not at all, whenever this process or its machine ends."""
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("wb") as file:
        np.savez(file, *jax.tree.leaves(state), run=np.array(run))
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def load_checkpoint(path: Path, like: State) -> State:
    """Return the state that was saved, which has the form of `like`."""
    with np.load(path) as saved:
        leaves = [jnp.asarray(saved[f"arr_{number}"]) for number in range(len(saved.files) - 1)]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def identity(config: Config) -> str:
    """Return what a run has in common with the one whose checkpoint it may continue."""
    return json.dumps({**asdict(config.model), "text": str(config.text or "library")})


def check_run(config: Config) -> None:
    """Raise ValueError where the checkpoint is of another run."""
    if not config.checkpoint.exists():
        return
    with np.load(config.checkpoint) as saved:
        run = str(saved["run"])
    if run != identity(config):
        raise ValueError(f"{config.out} is of another run, {run}; this one is {identity(config)}: choose another --out")


def forget_metrics_after(path: Path, step: int) -> None:
    """Drop what was reported by an attempt that died before it had written its checkpoint."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    path.write_text("".join(line for line in lines if line.endswith("\n") and json.loads(line)["step"] <= step))


# ---- how fast the machine is


def peak_flops() -> tuple[float, str]:
    """Return the operations a second of the device, and where the figure is from: no table has one for CPUs."""
    kind = jax.devices()[0].device_kind
    listed = None if jax.default_backend() == "cpu" else device_flops_for_jax_device(kind, "bf16")
    return (listed, f"data sheet of {kind}") if listed else (measured_flops(), "measured here")


def measured_flops(size: int = 1024) -> float:
    """Return the operations a second of the fastest of some products of matrices."""
    matrix = jnp.ones((size, size), jnp.float32)
    product = jax.jit(jnp.matmul)
    seconds: list[float] = []
    for _ in range(6):  # the first one compiles
        began = time.perf_counter()
        product(matrix, matrix).block_until_ready()
        seconds.append(time.perf_counter() - began)
    return 2 * size**3 / min(seconds)


# ---- the job


def train(config: Config) -> None:
    """Train to the end, from the checkpoint where there is one. This is what the job runs."""
    say(f"device {jax.devices()[0].device_kind}, process {os.getpid()} of {os.uname().nodename}")
    check_run(config)
    text, other_text = read_text(config.text)
    config.compiled.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(config.compiled))  # the next attempt begins sooner
    state = initial_state(config.model)
    if config.checkpoint.exists():
        state = load_checkpoint(config.checkpoint, state)
        say(f"resumed at step {state.step}")
    forget_metrics_after(config.metrics, int(state.step))
    peak, source = peak_flops()
    parameters = sum(leaf.size for leaf in jax.tree.leaves(state.params))
    say(f"{parameters:,} parameters, {len(text) / 1e6:.1f} MB of text, {peak / 1e9:,.0f} GFLOP/s ({source})")

    step_once = jax.jit(partial(train_step, config.model), donate_argnums=0)
    evaluate = jax.jit(partial(loss_of, config.model))
    losses: list[jax.Array] = []
    began = time.perf_counter()
    for step in range(int(state.step) + 1, config.model.steps + 1):
        # Returns before the device is done, which works while the next batch is made.
        state, loss = step_once(state, batch_of(config.model, text, 0, step))
        losses.append(loss)
        if step % config.every and step != config.model.steps:
            continue
        mean_loss = float(np.mean(losses))  # waits for the device
        steps_per_second = len(losses) / (time.perf_counter() - began)
        batches = [batch_of(config.model, other_text, 1, number) for number in range(EVAL_BATCHES)]
        eval_loss = float(np.mean([evaluate(state.params, batch) for batch in batches]))
        report(config, step, mean_loss, eval_loss, steps_per_second, peak)
        save_checkpoint(config.checkpoint, identity(config), state)
        losses = []
        began = time.perf_counter()
    say(f"done: {config.checkpoint}")


def report(config: Config, step: int, loss: float, eval_loss: float, steps_per_second: float, peak: float) -> None:
    """Write and print how training goes. MFU, the model FLOPs utilisation, is what part of the peak was of use."""
    rate = steps_per_second * config.model.tokens_per_step
    mfu = rate * config.model.flops_per_token / peak
    row = {"step": step, "loss": loss, "eval_loss": eval_loss, "tokens_per_second": rate, "mfu": mfu}
    with config.metrics.open("a") as file:
        file.write(json.dumps(row) + "\n")
    say(
        f"step {step:4}/{config.model.steps}  loss {loss:.3f}  eval {eval_loss:.3f} = {eval_loss / math.log(2):.2f} "
        f"bits a byte  {rate:7,.0f} tokens/s  MFU {mfu:5.1%}"
    )


def say(line: str) -> None:
    print(line, flush=True)


# ---- the command


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="train_lm.py", description="Train a small language model as a job.")
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="for checkpoint and metrics")
    parser.add_argument("--text", metavar="FOLDER", type=Path, help="of *.py files (default: Python's own library)")
    parser.add_argument("--steps", metavar="N", type=int, default=300, help="in all (default 300)")
    parser.add_argument("--every", metavar="N", type=int, default=25, help="steps from report to report (default 25)")
    parser.add_argument("--width", metavar="N", type=int, default=64, help="of the model, times 16 (default 64)")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of weights and batches (default 0)")
    parser.add_argument("--gpu", metavar="KIND", help="train on a GPU, such as H100 or auto (default: the CPU)")
    options = parser.parse_args(arguments)
    if options.steps < 1 or options.every < 1:
        parser.error("--steps and --every must be at least 1")
    if options.width < 16 or options.width % 16:
        parser.error("--width must be 16, 32, 48 and so on")
    if options.text and not options.text.is_dir():
        parser.error(f"there is no folder {options.text}")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    model = Settings(steps=options.steps, width=options.width, seed=options.seed)
    # Absolute, because the job need not have this program's working folder.
    text = options.text and options.text.absolute()
    config = Config(model, text, options.out.absolute(), options.every)
    try:
        check_run(config)  # here, where nothing has been started
    except ValueError as error:
        print(f"train_lm.py: {error}", file=sys.stderr)
        return 2
    return run_and_follow(
        fray.JobRequest(
            name="train-lm",
            entrypoint=fray.Entrypoint.from_callable(train, args=[config]),
            resources=fray.ResourceConfig.with_gpu(options.gpu) if options.gpu else fray.ResourceConfig.with_cpu(),
            environment=fray.create_environment(workspace=Path(__file__).parent),
            max_retries_failure=RETRIES,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
