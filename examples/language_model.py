"""A small language model in JAX, and how it learns: bytes in, the next byte out. It knows nothing of jobs.

A decoder-only transformer with one embedding for both ends, trained with AdamW. `train_lm.py` is the program.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

VOCABULARY = 256
BETA1, BETA2, EPSILON, DECAY, LARGEST_GRADIENT = 0.9, 0.95, 1e-8, 0.1, 1.0

Params = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """The model and its training."""

    steps: int
    width: int = 64
    layers: int = 2
    head_width: int = 16
    context: int = 64
    batch: int = 32
    rate: float = 4e-3
    seed: int = 0

    @property
    def tokens_per_step(self) -> int:
        return self.batch * self.context

    @property
    def flops_per_token(self) -> int:
        """Of the forward and the backward pass, counted as usual: 6 for each weight, and attention to all places."""
        weights = 12 * self.layers * self.width**2 + VOCABULARY * self.width
        return 6 * weights + 12 * self.layers * self.width * self.context


class State(NamedTuple):
    """All that training goes on from."""

    step: jax.Array
    params: Params
    mean: Params
    square: Params


def initial_state(settings: Settings) -> State:
    params = initial_params(settings)
    mean, square = (jax.tree.map(np.zeros_like, params) for _ in range(2))
    return jax.device_put(State(np.int32(0), params, mean, square))


def initial_params(settings: Settings) -> Params:
    """The weights of all layers lie in one array each, so that the layers are one loop, which is compiled once."""
    random = np.random.default_rng(settings.seed)
    width, layers = settings.width, settings.layers

    def normal(*shape: int) -> NDArray[np.float32]:
        return random.normal(0.0, 0.02, shape).astype(np.float32)

    def ones(*shape: int) -> NDArray[np.float32]:
        return np.ones(shape, np.float32)

    return {
        "embedding": normal(VOCABULARY, width),
        "position": normal(settings.context, width),
        "layers": {
            "attention_gain": ones(layers, width),
            "query_key_value": normal(layers, width, 3 * width),
            "attention_out": normal(layers, width, width),
            "mlp_gain": ones(layers, width),
            "mlp_in": normal(layers, width, 4 * width),
            "mlp_out": normal(layers, 4 * width, width),
        },
        "gain": ones(width),
    }


# ---- the model


def normalised(x: jax.Array, gain: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * gain


def attention(head_width: int, layer: Params, x: jax.Array) -> jax.Array:
    batch, length, width = x.shape
    heads = (x @ layer["query_key_value"]).reshape(batch, length, -1, head_width)
    query, key, value = jnp.split(heads, 3, axis=2)
    mixed = jax.nn.dot_product_attention(query, key, value, is_causal=True)
    return mixed.reshape(batch, length, width) @ layer["attention_out"]


def predict(settings: Settings, params: Params, inputs: jax.Array) -> jax.Array:
    """Return the logits of the byte that follows each byte."""

    def apply(x: jax.Array, layer: Params) -> tuple[jax.Array, None]:
        x = x + attention(settings.head_width, layer, normalised(x, layer["attention_gain"]))
        hidden = jax.nn.gelu(normalised(x, layer["mlp_gain"]) @ layer["mlp_in"])
        return x + hidden @ layer["mlp_out"], None

    x = params["embedding"][inputs] + params["position"]
    x, _ = jax.lax.scan(apply, x, params["layers"])
    return normalised(x, params["gain"]) @ params["embedding"].T


def loss_of(settings: Settings, params: Params, batch: jax.Array) -> jax.Array:
    """Return the cross entropy in nats a byte; a row of the batch is a text of one byte more than the context."""
    dtype = jnp.float32 if jax.default_backend() == "cpu" else jnp.bfloat16
    logits = predict(settings, jax.tree.map(lambda weight: weight.astype(dtype), params), batch[:, :-1])
    log_probabilities = jax.nn.log_softmax(logits.astype(jnp.float32))
    return -jnp.take_along_axis(log_probabilities, batch[:, 1:, None], axis=-1).mean()


# ---- the optimiser


def train_step(settings: Settings, state: State, batch: jax.Array) -> tuple[State, jax.Array]:
    """Return the state after one step of AdamW, and the loss before it."""
    loss, gradients = jax.value_and_grad(partial(loss_of, settings))(state.params, batch)
    norm = jnp.sqrt(sum(jnp.sum(gradient**2) for gradient in jax.tree.leaves(gradients)))
    gradients = jax.tree.map(lambda gradient: gradient * jnp.minimum(1.0, LARGEST_GRADIENT / norm), gradients)
    step = state.step + 1
    rate = learning_rate(settings, step)
    mean = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, state.mean, gradients)
    square = jax.tree.map(lambda s, g: BETA2 * s + (1 - BETA2) * g**2, state.square, gradients)

    def moved(weight: jax.Array, mean: jax.Array, square: jax.Array) -> jax.Array:
        direction = mean / (1 - BETA1**step) / (jnp.sqrt(square / (1 - BETA2**step)) + EPSILON)
        return weight - rate * (direction + DECAY * weight)

    return State(step, jax.tree.map(moved, state.params, mean, square), mean, square), loss


def learning_rate(settings: Settings, step: jax.Array) -> jax.Array:
    """Rises over the first tenth of the steps, then falls along a cosine to a tenth of what it was."""
    warm_up = max(1, settings.steps // 10)
    progress = jnp.clip((step - warm_up) / max(1, settings.steps - warm_up), 0.0, 1.0)
    return settings.rate * jnp.minimum(step / warm_up, 0.55 + 0.45 * jnp.cos(jnp.pi * progress))
