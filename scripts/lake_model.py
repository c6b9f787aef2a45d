"""Make the bundled model lab:lake anew, into assets/lab/lake or another folder.

A few minutes on one core. The recipe is `agentenvs.harness.lab.lake_base.Recipe`. Needs the
extra hf. The same release of torch on the same kind of processor gives the same bytes.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    """Train, and put in place what differs."""
    kept = Path(__file__).parent.parent / "assets" / "lab" / "lake"
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="DIR", type=Path, nargs="?", default=kept)
    folder = parser.parse_args().folder

    import torch

    from agentenvs.frozenlake import VOCABULARY
    from agentenvs.harness.lab.lake_base import Recipe, pretrain_lake
    from agentenvs.harness.lab.model import save

    torch.set_num_threads(1)
    recipe, begun = Recipe(), time.monotonic()

    def tell(step: int, loss: float) -> None:
        if step % 50 == 0:
            eta = (time.monotonic() - begun) * (recipe.steps - step) / step
            print(f"step {step}/{recipe.steps}  loss {loss:.4f}  ETA {eta:.0f} s", file=sys.stderr)

    model = pretrain_lake(recipe, on_step=tell)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        save(model, made, VOCABULARY)
        for file in sorted(Path(made).iterdir()):
            target = folder / file.name
            if target.exists() and target.read_bytes() == file.read_bytes():
                print(f"{target}: as it was")
                continue
            shutil.copyfile(file, target)
            print(f"{target}: new")


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    main()
