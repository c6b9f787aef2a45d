"""Loading a transformers model and its tokenizer, and telling one model from another."""

from __future__ import annotations

import hashlib
import importlib
import json
from pathlib import Path
from typing import Any

from agentenvs.errors import BadArgument, PolicyError

__all__ = ["DTYPES", "context_length", "fingerprint", "ignored_defaults", "load", "need"]

DTYPES = ("auto", "float32", "bfloat16", "float16")

#: beginnings of generation config fields that do not say how to draw
_NOT_SAMPLING = ("_", "bos_", "eos_", "pad_", "output_", "transformers_", "use_cache")


def need(*modules: str) -> None:
    """Import optional modules.

    Raises:
        PolicyError: one is missing; the message names the extra.
    """
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            extra = "hf,gguf" if module in ("gguf", "sentencepiece") else "hf"
            raise PolicyError(
                f"A transformers policy needs {module}: pip install 'agentenvs[{extra}]'"
            ) from error


def load(
    source: str,
    *,
    dtype: str = "auto",
    device: str = "auto",
    revision: str | None = None,
    attn_implementation: str | None = None,
) -> tuple[Any, Any, str]:
    """Load a model and its tokenizer; no code that comes with a model is run.

    Args:
        source: a folder with a safetensors model, a hub name, or a `.gguf` file.
        dtype: one of `DTYPES`; "auto" is the checkpoint's own, for a `.gguf` file bfloat16.
        device: a torch device; "auto" is the first GPU, else the CPU.
        revision: branch, tag or commit of a hub model.
        attn_implementation: a name that transformers knows, or None for its own choice.

    Returns:
        Model, tokenizer and the model's name.

    Raises:
        BadArgument: an unknown dtype, or no name of a device.
        PolicyError: a package is missing, or there is no such model or device.
    """
    if dtype not in DTYPES:
        raise BadArgument(f"Expected `dtype` to be one of {', '.join(DTYPES)}, got {dtype!r}.")
    if not source:
        raise PolicyError("Expected a model: hf:FOLDER, hf:FOLDER/FILE.gguf or hf:HUB_NAME.")
    need("torch", "transformers")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where_to = _device(device)
    path = Path(source).expanduser()
    where: dict[str, Any] = {}
    options: dict[str, Any] = {"dtype": dtype if dtype == "auto" else getattr(torch, dtype)}
    if attn_implementation is not None:
        options["attn_implementation"] = attn_implementation
    if source.endswith(".gguf"):
        need("gguf", "sentencepiece")
        if not path.is_file():
            raise PolicyError(f"There is no file {source}.")
        name, folder = path.stem, str(path.parent)
        where = {"gguf_file": path.name}
        options |= _unpacked()
        if dtype == "auto":
            options["dtype"] = torch.bfloat16
    else:
        local = path.is_dir()
        if not local and (path.is_absolute() or source.startswith((".", "~"))):
            raise PolicyError(f"There is no folder {source}.")
        name, folder = (path.resolve().name, str(path)) if local else (source, source)
        # Other weight files are pickles.
        options["use_safetensors"] = True
        if revision is not None:
            where["revision"] = revision
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, **where)
        model = AutoModelForCausalLM.from_pretrained(
            folder, trust_remote_code=False, **where, **options
        )
        model = model.to(where_to)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        raise PolicyError(f"The model {source} cannot be loaded: {error}") from error
    return model, tokenizer, name


def _device(name: str) -> Any:
    """Return a device on which something can be computed."""
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError) as error:
        told = "'auto', 'cpu', 'cuda', 'cuda:1' or 'mps'"
        raise BadArgument(f"Expected `device` to be such as {told}, got {name!r}.") from error
    if device.type == "meta":
        raise BadArgument("Expected `device` to be one that computes, got 'meta'.")
    try:
        torch.zeros(1, device=device).add(1).tolist()
    # Without CUDA this is an AssertionError, elsewhere anything.
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise PolicyError(f"There is no device {name!r} to use here: {reason}") from error
    return device


def _unpacked() -> dict[str, Any]:
    """Ask for dense weights where transformers would leave them in GGUF blocks."""
    import transformers

    config = getattr(transformers, "GgufConfig", None)
    return {} if config is None else {"quantization_config": config(dequantize=True)}


def context_length(model: Any, tokenizer: Any) -> int | None:
    """Return the most tokens that a model takes, or None where it does not say."""
    config = model.config.get_text_config(decoder=True)
    for name in ("max_position_embeddings", "n_positions", "seq_length"):
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0:
            return value
    limit = getattr(tokenizer, "model_max_length", None)
    return int(limit) if isinstance(limit, int) and 0 < limit < 1 << 30 else None


def ignored_defaults(model: Any) -> dict[str, Any]:
    """Return the model's own sampling defaults, none of which is used."""
    config = getattr(model, "generation_config", None)
    fields = config.to_diff_dict() if config is not None else {}
    return {
        key: value if isinstance(value, bool | int | float | str) else str(value)
        for key, value in sorted(fields.items())
        if value is not None and not key.startswith(_NOT_SAMPLING)
    }


def fingerprint(model: Any) -> str:
    """Return a short hash of a model: its architecture and a sample of every weight.

    Sixteen values of each tensor are read, so it takes milliseconds and still tells a model
    from its fine-tuned copy of the same size.
    """
    import torch

    config = model.config.to_dict()
    shape = {k: config[k] for k in sorted(config) if isinstance(config[k], int | float | str)}
    for unsteady in ("_name_or_path", "transformers_version", "torch_dtype", "dtype"):
        shape.pop(unsteady, None)
    digest = hashlib.sha256(json.dumps(shape, sort_keys=True).encode())
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            digest.update(f"{name}{tuple(weight.shape)}".encode())
            if weight.device.type == "meta" or not weight.numel():
                continue
            step = max(1, weight.numel() // 16)
            flat = weight.detach().reshape(-1)[::step][:16]
            digest.update(flat.to("cpu", torch.float32).numpy().tobytes())
    return digest.hexdigest()[:16]
