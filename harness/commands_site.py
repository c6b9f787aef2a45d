"""What `agentenvs site` does: the shop as a web site for people and for clients of the original."""

from __future__ import annotations

import argparse
import errno
import signal
import threading
from typing import TYPE_CHECKING, Any

from agentenvs.errors import BadArgument

if TYPE_CHECKING:
    from agentenvs.webshop.site import Site

__all__ = ["add_to", "site"]

_EPILOG = """\
examples:
  agentenvs site
  agentenvs site --tasks paper --details
  agentenvs site --catalog my/catalog --tasks human --port 8080
"""


def add_to(verbs: Any) -> None:
    """Add the verb to the command."""
    sub = verbs.add_parser(
        "site",
        help="the shop of WebShop as a web site",
        description="Serve the shop of WebShop to browsers on this machine, with the addresses "
        "of the original's site.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sub.add_argument("--catalog", metavar="DIR", help="a catalog's name or folder")
    sub.add_argument("--tasks", metavar="SET", help="a task set, a task, or several with commas")
    sub.add_argument(
        "--port", type=int, default=3000, help="0 takes a free one (default: %(default)s)"
    )
    sub.add_argument(
        "--host",
        default="127.0.0.1",
        help="the address to listen on; any other than this machine's own lets others in "
        "(default: %(default)s)",
    )
    sub.add_argument(
        "--name",
        metavar="HOST",
        action="append",
        default=[],
        help="a further host name under which the site may be asked for",
    )
    sub.add_argument(
        "--rules", choices=("official", "fixed"), default="official", help="default: %(default)s"
    )
    sub.add_argument(
        "--attributes", action="store_true", help="give products a page with their attributes"
    )
    sub.add_argument(
        "--details",
        action="store_true",
        help="let the last page tell how it was scored, and with that the goal",
    )
    sub.add_argument(
        "--seed", type=int, default=0, help="changes the goals that names draw (default: 0)"
    )
    sub.set_defaults(call=site)


def site(args: argparse.Namespace) -> int:
    """Serve the shop until Ctrl-C or a request to end."""
    from agentenvs.webshop.site import Site, serve

    tasks = args.tasks
    if tasks is not None and "," in tasks:
        tasks = [name for name in tasks.split(",") if name]
    try:
        opened = Site(
            args.catalog,
            tasks,
            port=args.port,
            host=args.host,
            rules=args.rules,
            show_attrs=args.attributes,
            details=args.details,
            seed=args.seed,
            names=args.name,
        )
    except OSError as problem:
        if problem.errno != errno.EADDRINUSE:
            raise
        raise BadArgument(
            f"Port {args.port} is taken; choose another with --port, 0 takes a free one."
        ) from problem
    stop = threading.Event()
    wanted = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in wanted}
    try:
        serve(opened, stop, _tell)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    print("closed")
    return 0


def _tell(opened: Site) -> None:
    shop, goals = opened.shop, len(opened.sessions)
    print(
        f"WebShop with {len(shop.catalog):,} products and {goals:,} goals: {opened.url}/\n"
        f"  {opened.address('fixed_0')}  has goal 0, and so on to goal {goals - 1}\n"
        f"  {opened.address('anything')}  has a goal drawn by that name\n"
        "Ctrl-C ends it.",
        flush=True,
    )
