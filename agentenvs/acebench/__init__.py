"""ACEBench: tool calls judged by reference and agents judged by the world they leave behind.

Benchmark: ACEBench, Chen et al.; data read at run time from a copy of its repository.
"""

from __future__ import annotations

__all__: list[str] = []
