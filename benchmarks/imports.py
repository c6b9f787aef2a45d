"""What `import agentenvs` costs beyond `import gymnasium`, in CPU time of a fresh interpreter.

python benchmarks/imports.py
"""

from __future__ import annotations

import subprocess
import sys

ROUNDS = 7
CODE = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"


def cost(module: str) -> float:
    """Return the least CPU seconds of several imports."""
    times = []
    for _ in range(ROUNDS):
        command = [sys.executable, "-c", CODE.format(module)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        times.append(float(done.stdout))
    return min(times)


def main() -> None:
    gymnasium, ours = cost("gymnasium"), cost("agentenvs")
    print(
        f"import agentenvs {ours * 1e3:.0f} ms of CPU (aim under 300), gymnasium alone "
        f"{gymnasium * 1e3:.0f} ms: ratio {ours / gymnasium:.2f}"
    )


if __name__ == "__main__":
    main()
