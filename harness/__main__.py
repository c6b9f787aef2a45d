"""`python -m agentenvs.harness`: the `agentenvs` command."""

from __future__ import annotations

import sys

from agentenvs.harness.cli import main

sys.exit(main())
