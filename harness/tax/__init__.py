"""What post-training cost: pass@k, the Sharpening Tax and what belongs to them.

NumPy is all that is needed. `c` successes in `n` rollouts of each task are the input:

>>> from agentenvs.harness.tax import sharpening_tax
>>> base, post = ([1, 3, 0, 2], 8), ([8, 5, 0, 0], 8)
>>> round(sharpening_tax(base, post, K=4).tax_S, 3)
0.206
"""

from __future__ import annotations

from agentenvs.harness.tax.counts import Counts
from agentenvs.harness.tax.crossing import CrossoverInterval, crossover_interval
from agentenvs.harness.tax.estimators import area, curve, pass_at_k, pass_hat_k
from agentenvs.harness.tax.intervals import TaxInterval, sharpening_tax_interval
from agentenvs.harness.tax.measures import (
    Crossover,
    Partition,
    SharpeningTax,
    crossover,
    partition,
    s_max,
    scalability,
    sharpening_tax,
)
from agentenvs.harness.tax.shares import (
    Estimate,
    PartitionInterval,
    partition_interval,
    pass_at_k_interval,
)
from agentenvs.harness.tax.table import Comparison, compare

__all__ = [
    "Comparison",
    "Counts",
    "Crossover",
    "CrossoverInterval",
    "Estimate",
    "Partition",
    "PartitionInterval",
    "SharpeningTax",
    "TaxInterval",
    "area",
    "compare",
    "crossover",
    "crossover_interval",
    "curve",
    "partition",
    "partition_interval",
    "pass_at_k",
    "pass_at_k_interval",
    "pass_hat_k",
    "s_max",
    "scalability",
    "sharpening_tax",
    "sharpening_tax_interval",
]
