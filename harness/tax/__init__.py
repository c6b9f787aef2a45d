"""What post-training cost: pass@k, the Sharpening Tax and what belongs to them.

NumPy is all that is needed. `c` successes in `n` rollouts of each task are the input:

>>> from agentenvs.harness.tax import sharpening_tax
>>> base, post = ([1, 3, 0, 2], 8), ([8, 5, 0, 0], 8)
>>> round(sharpening_tax(base, post, K=4).tax_S, 3)
0.206
"""

from __future__ import annotations

from agentenvs.harness.tax.assumptions import Assumption
from agentenvs.harness.tax.bands import Band, CurveBands, TaxBands, curve_bands, tax_bands
from agentenvs.harness.tax.bootstrap import TaxBootstrap, bootstrap_cells, bootstrap_tax
from agentenvs.harness.tax.consistency import consistency_gap, hat_curve
from agentenvs.harness.tax.counts import Counts
from agentenvs.harness.tax.crossing import CrossoverSet, crossover_set
from agentenvs.harness.tax.decomposition import BINS, Decomposition, decompose, flow
from agentenvs.harness.tax.discovery import Discoveries, discoveries, p_value
from agentenvs.harness.tax.estimators import area, curve, pass_at_k, pass_hat_k
from agentenvs.harness.tax.factorial import Factorial, TwoByTwo, two_by_two
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
from agentenvs.harness.tax.parts import TaxParts, tax_parts
from agentenvs.harness.tax.planning import SampleSize, sample_size
from agentenvs.harness.tax.prediction import SplitHalf, split_half
from agentenvs.harness.tax.rank import Correlation, spearman
from agentenvs.harness.tax.reference import published
from agentenvs.harness.tax.rollout_noise import rollout_interval
from agentenvs.harness.tax.routing import (
    KINDS,
    ArmChoice,
    BinRouting,
    Option,
    PilotProtocol,
    Routing,
    RoutingByBin,
    Served,
    expected_tries,
    pilot_protocol,
    route,
    route_by_bin,
)
from agentenvs.harness.tax.sensitivity import (
    Audit,
    FalsePasses,
    lone_success_audit,
    with_false_positives,
)
from agentenvs.harness.tax.shares import (
    Estimate,
    PartitionInterval,
    partition_interval,
    pass_at_k_interval,
)
from agentenvs.harness.tax.table import Comparison, compare
from agentenvs.harness.tax.theory import TheoremCheck, sharpening_theorem

__all__ = [
    "BINS",
    "KINDS",
    "ArmChoice",
    "Assumption",
    "Audit",
    "Band",
    "BinRouting",
    "Comparison",
    "Correlation",
    "Counts",
    "Crossover",
    "CrossoverSet",
    "CurveBands",
    "Decomposition",
    "Discoveries",
    "Estimate",
    "Factorial",
    "FalsePasses",
    "Option",
    "Partition",
    "PartitionInterval",
    "PilotProtocol",
    "Routing",
    "RoutingByBin",
    "SampleSize",
    "Served",
    "SharpeningTax",
    "SplitHalf",
    "TaxBands",
    "TaxBootstrap",
    "TaxInterval",
    "TaxParts",
    "TheoremCheck",
    "TwoByTwo",
    "area",
    "bootstrap_cells",
    "bootstrap_tax",
    "compare",
    "consistency_gap",
    "crossover",
    "crossover_set",
    "curve",
    "curve_bands",
    "decompose",
    "discoveries",
    "expected_tries",
    "flow",
    "hat_curve",
    "lone_success_audit",
    "p_value",
    "partition",
    "partition_interval",
    "pass_at_k",
    "pass_at_k_interval",
    "pass_hat_k",
    "pilot_protocol",
    "published",
    "rollout_interval",
    "route",
    "route_by_bin",
    "s_max",
    "sample_size",
    "scalability",
    "sharpening_tax",
    "sharpening_tax_interval",
    "sharpening_theorem",
    "spearman",
    "split_half",
    "tax_bands",
    "tax_parts",
    "two_by_two",
    "with_false_positives",
]
