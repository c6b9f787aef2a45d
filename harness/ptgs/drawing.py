"""How figures look: ink, colours that most people can tell apart, and no frame around axes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

__all__ = ["COLOURS", "GRID", "INK", "SOFT", "blank", "svg", "vector"]

# Okabe and Ito's colours, told apart by most colour-blind people.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b")
INK, SOFT, GRID = "#211f1b", "#6c675e", "#e3ded4"


@contextmanager
def blank(size: tuple[float, float], **settings: object) -> Iterator[Any]:
    """Give an empty figure; nothing of Matplotlib's own settings stays changed.

    Args:
        size: width and height in inches.
        settings: further settings of Matplotlib, with `_` for the dots of their names.

    Raises:
        ImportError: Matplotlib is missing.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            'Figures need Matplotlib: pip install "agentenvs[report]".', name="matplotlib"
        ) from None
    style: dict[Any, Any] = {
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.titleweight": "bold",
        "axes.edgecolor": SOFT,
        "axes.labelcolor": INK,
        "axes.titlecolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": GRID,
        "grid.linewidth": 0.7,
        "xtick.color": SOFT,
        "ytick.color": SOFT,
        "text.color": INK,
        "legend.frameon": False,
        "legend.fontsize": 8,
    }
    further = {name.replace("_", "."): value for name, value in settings.items()}
    with matplotlib.rc_context(style | further):
        yield Figure(figsize=size, layout="constrained")


def vector(size: tuple[float, float], **settings: object) -> AbstractContextManager[Any]:
    """Give `blank` without background, for an SVG that is the same whenever it is drawn."""
    return blank(
        size,
        svg_hashsalt="agentenvs",
        svg_fonttype="path",
        axes_facecolor="none",
        figure_facecolor="none",
        savefig_facecolor="none",
        **settings,
    )


def svg(figure: Any) -> str:
    """Return a figure as SVG, without when and by what it was drawn."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()
