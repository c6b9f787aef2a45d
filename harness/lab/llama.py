"""A small model's size and weights as a Llama of transformers has them, in a folder and out of it.

Attention turns pairs of numbers; a Llama of transformers pairs the first half of a head with the
second, this model neighbours. The order inside a head is put right on the way.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agentenvs.errors import BadArgument
from agentenvs.harness.lab.tokenizer import build_tokenizer, check_words
from agentenvs.toollab.vocabulary import END, PAD, VOCABULARY

__all__ = ["EPS", "THETA", "Shape", "read", "write"]

EPS = 1e-6
THETA = 10000.0

_CONFIG = "config.json"
_WEIGHTS = "model.safetensors"
#: what a config says besides the sizes, for the architecture to be this one
_FIXED = {
    "model_type": "llama",
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": False,
    "rms_norm_eps": EPS,
}


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a model is.

    Attributes:
        vocabulary: number of token ids; default ToolLab's words.
        layers: number of blocks.
        width: numbers a token, d.
        heads: attention heads; `width / heads` has to be even.
        inner: numbers a token inside the gated part.
        context: most tokens of a sequence.

    Raises:
        BadArgument: a number below 1, or a width that the heads do not divide evenly.
    """

    vocabulary: int = len(VOCABULARY)
    layers: int = 3
    width: int = 64
    heads: int = 4
    inner: int = 128
    context: int = 128

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise BadArgument(f"Expected `{name}` to be an int of at least 1, got {value!r}.")
        if self.width % (2 * self.heads):
            raise BadArgument(
                f"Expected a `width` that {self.heads} heads divide into even parts, "
                f"got {self.width}."
            )

    @property
    def head(self) -> int:
        """Numbers a head."""
        return self.width // self.heads


def write(
    state: Mapping[str, Any],
    shape: Shape,
    folder: str | os.PathLike[str],
    words: Sequence[str] = VOCABULARY,
) -> None:
    """Write weights, configuration and a world's tokenizer as transformers reads them.

    Args:
        state: the weights, as of `TinyLM.state_dict()`.
        shape: the model's size.
        folder: made where it is missing.
        words: the world's vocabulary; default ToolLab's.

    Raises:
        BadArgument: the model has not one token for each of the words, or they are none.
    """
    from safetensors.torch import save_file
    from transformers import GenerationConfig, LlamaConfig

    words = check_words(words)
    if shape.vocabulary != len(words):
        raise BadArgument(
            f"Expected a model of {len(words)} tokens, got one of {shape.vocabulary}."
        )
    marks = {"bos_token_id": None, "eos_token_id": END, "pad_token_id": PAD}
    fixed = {name: value for name, value in _FIXED.items() if name != "model_type"}
    config = LlamaConfig(
        architectures=["LlamaForCausalLM"],
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        head_dim=shape.head,
        max_position_embeddings=shape.context,
        rope_parameters={"rope_type": "default", "rope_theta": THETA},
        dtype="float32",
        **fixed,
        **marks,
    )
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    named = {name: weight.contiguous() for name, weight in _to_llama(state, shape).items()}
    save_file(named, path / _WEIGHTS, metadata={"format": "pt"})
    config.save_pretrained(path)
    GenerationConfig(**marks).save_pretrained(path)
    build_tokenizer(shape.context, words).save_pretrained(path)


def read(folder: str | os.PathLike[str]) -> tuple[Shape, dict[str, Any]]:
    """Return the size and the weights, named as `TinyLM` has them.

    Raises:
        BadArgument: the folder holds no model of this architecture.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = Path(folder)
    try:
        config = json.loads((path / _CONFIG).read_text(encoding="utf-8"))
        weights = load_file(path / _WEIGHTS)
    except (OSError, ValueError, SafetensorError) as error:
        raise BadArgument(f"Expected a folder with a saved model, got {path}: {error}") from error
    try:
        shape = _shape_of(config)
        return shape, _from_llama(weights, shape)
    except (KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise BadArgument(f"The model in {path} is not one of the lab's: {error!r}") from error


def _shape_of(config: Mapping[str, Any]) -> Shape:
    rope = config["rope_parameters"]
    said = {name: config[name] for name in _FIXED}
    said |= {"rope_type": rope["rope_type"], "rope_theta": rope["rope_theta"]}
    wanted = {**_FIXED, "rope_type": "default", "rope_theta": THETA}
    said["num_key_value_heads"] = config["num_key_value_heads"]
    wanted["num_key_value_heads"] = config["num_attention_heads"]
    odd = [f"{name} {said[name]!r}" for name in wanted if said[name] != wanted[name]]
    if odd:
        raise BadArgument(f"Expected a model as the lab saves them, got {', '.join(odd)}.")
    return Shape(
        vocabulary=config["vocab_size"],
        layers=config["num_hidden_layers"],
        width=config["hidden_size"],
        heads=config["num_attention_heads"],
        inner=config["intermediate_size"],
        context=config["max_position_embeddings"],
    )


def _to_llama(state: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    named = {
        "model.embed_tokens.weight": state["embed"],
        "model.norm.weight": state["norm"],
        "lm_head.weight": state["head"],
    }
    for index in range(shape.layers):
        ours, theirs = f"blocks.{index}.", f"model.layers.{index}."
        q, k, v = state[ours + "qkv"].chunk(3)
        gate, up = state[ours + "gate_up"].chunk(2)
        named |= {
            f"{theirs}input_layernorm.weight": state[ours + "norm1"],
            f"{theirs}self_attn.q_proj.weight": _halves(q, shape),
            f"{theirs}self_attn.k_proj.weight": _halves(k, shape),
            f"{theirs}self_attn.v_proj.weight": v,
            f"{theirs}self_attn.o_proj.weight": state[ours + "out"],
            f"{theirs}post_attention_layernorm.weight": state[ours + "norm2"],
            f"{theirs}mlp.gate_proj.weight": gate,
            f"{theirs}mlp.up_proj.weight": up,
            f"{theirs}mlp.down_proj.weight": state[ours + "down"],
        }
    return named


def _from_llama(weights: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    import torch

    state = {
        "embed": weights["model.embed_tokens.weight"],
        "norm": weights["model.norm.weight"],
        "head": weights["lm_head.weight"],
    }
    for index in range(shape.layers):
        ours, theirs = f"blocks.{index}.", f"model.layers.{index}."
        q, k, v, out = (weights[f"{theirs}self_attn.{name}_proj.weight"] for name in "qkvo")
        gate, up, down = (weights[f"{theirs}mlp.{n}_proj.weight"] for n in ("gate", "up", "down"))
        state |= {
            f"{ours}norm1": weights[f"{theirs}input_layernorm.weight"],
            f"{ours}qkv": torch.cat((_neighbours(q, shape), _neighbours(k, shape), v)),
            f"{ours}out": out,
            f"{ours}norm2": weights[f"{theirs}post_attention_layernorm.weight"],
            f"{ours}gate_up": torch.cat((gate, up)),
            f"{ours}down": down,
        }
    return state


def _halves(weight: Any, shape: Shape) -> Any:
    """Put the even rows of each head before the odd ones."""
    apart = weight.view(shape.heads, shape.head // 2, 2, shape.width)
    return apart.transpose(1, 2).reshape(shape.width, shape.width)


def _neighbours(weight: Any, shape: Shape) -> Any:
    """Undo `_halves`."""
    apart = weight.view(shape.heads, 2, shape.head // 2, shape.width)
    return apart.transpose(1, 2).reshape(shape.width, shape.width)
