"""The environment in a real browser: every action is carried out on the site's pages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded

from agentenvs.core import Rules, Transition
from agentenvs.errors import BadArgument, BrowserError
from agentenvs.webshop.actions import Call
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.env import MAX_STEPS, Observation, Role, WebShopEnv
from agentenvs.webshop.pages import Shop
from agentenvs.webshop.paths import Place, path, read
from agentenvs.webshop.records import Goal
from agentenvs.webshop.site.chromium import Chromium, Programs
from agentenvs.webshop.site.server import Site
from agentenvs.webshop.site.sessions import Assigned
from agentenvs.webshop.views import State

__all__ = ["WebShopBrowserEnv"]

#: the longest address that is got by a search; a longer one is opened as it is
_LONGEST = 60_000
_SMALLEST, _LARGEST = 200, 8_000


class WebShopBrowserEnv(WebShopEnv):
    """WebShop in a headless Chromium: the same tasks, actions, observations and rewards.

    Task, actions, observations, reward, end: those of `WebShopEnv`. Each valid action is also
    carried out on the pages of a site of the environment's own: typing into the search field
    and submitting, clicking a button, a product or an option value by its label. The address
    that the browser then shows must stand for the state of the shop, and the last page must
    show its score.

    What a person could not do is done by address: a search where the page has no search bar
    (which "official" allows) begins on the search page, and a query that no search field holds
    (line breaks, lone surrogates, or one whose address is longer than 60,000 characters) is
    opened as a page of results.

    Site and browser start with the first reset, one each for an environment; `close` ends
    both. Copies and restored snapshots go on by the address of their page.

    Ids: `agentenvs/WebShopBrowser-v0`. Needs the extra `browser` and Chromium with its driver.

    Args:
        tasks: see `WebShopEnv`, as for all that is not told here.
        task: see there.
        rules: see there.
        reward: see there.
        catalog: see there.
        observation: see there.
        show_attrs: see there.
        prices: see there.
        draw: see there.
        max_steps: see there.
        render_mode: None, "ansi", or "rgb_array" for what the browser shows.
        exclude: see there.
        browser: path of Chromium; default the environment variable AGENTENVS_CHROMIUM, or
            what is found in PATH.
        window: width and height of the page, in pixels.

    Raises:
        BadArgument: an argument out of range.
        UnknownName: an unknown task or task set.
        SourceError: the catalog cannot be had.
        BrowserError: the browser, its driver or Selenium is missing; later, the browser fails,
            or shows something else than it should.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 1,
    }

    def __init__(
        self,
        tasks: str | Sequence[str] | None = None,
        task: str | None = None,
        rules: Rules = "official",
        reward: Literal["success", "score"] = "success",
        catalog: str | PathLike[str] | Catalog | None = None,
        observation: Observation = "text",
        show_attrs: bool = False,
        prices: Mapping[str, float] | None = None,
        draw: Literal["uniform", "weighted"] = "uniform",
        max_steps: int | None = MAX_STEPS,
        render_mode: str | None = None,
        exclude: Collection[str] = (),
        browser: str | None = None,
        window: tuple[int, int] = (1280, 800),
    ) -> None:
        if render_mode not in (None, "ansi", "rgb_array"):
            raise BadArgument(
                f"Expected `render_mode` to be None, 'ansi' or 'rgb_array', got {render_mode!r}."
            )
        size = _checked(window)
        programs = Programs(browser)
        super().__init__(
            tasks,
            task,
            rules,
            reward,
            catalog,
            observation,
            show_attrs,
            prices,
            draw,
            max_steps,
            None if render_mode == "rgb_array" else render_mode,
            exclude,
        )
        self.render_mode = render_mode
        self._window = _Window(programs, size, self._shop, self.task_ids)

    def render(self) -> str | npt.NDArray[np.uint8] | None:  # type: ignore[override]
        """Return what the browser shows, height x width x 3, in render mode "rgb_array".

        Raises:
            ResetNeeded: nothing is shown yet.
        """
        if self.render_mode != "rgb_array":
            return super().render()
        if self._episode is None:
            raise ResetNeeded("Nothing is shown yet: call `reset` before `render`.")
        self._show(self._episode.state, self._episode.goal)
        with self._window.asked() as (_, chromium):
            return chromium.photograph()

    def close(self) -> None:
        """Close the browser and the site; a later reset starts them again."""
        self._window.close()
        super().close()

    def _start(self, task: str, options: Mapping[str, Any]) -> Transition:
        transition = super()._start(task, options)
        episode = self._parts()
        session = episode.state.session
        if session in (".", ".."):
            # Browsers take such a part of an address for a folder, however it is quoted.
            raise BadArgument(f"Expected `session` to be what addresses can hold, got {session!r}.")
        self._show(episode.state, episode.goal)
        return transition

    def _carry_out(self, call: Call, role: Role) -> Transition:
        episode = self._parts()
        before = episode.state.copy()
        transition = super()._carry_out(call, role)
        if not transition.info["invalid_action"]:
            self._act_out(call, before, episode.state, episode.goal)
        return transition

    def _show(self, state: State, goal: Goal) -> None:
        """Bring the browser to the page of `state`, where it is not there."""
        wanted = Place.of(state)
        if self._window.place != wanted:
            with self._window.asked() as (site, chromium):
                site.sessions.assign(state.session, Assigned(goal, state.keywords, state.rows))
                shown = chromium.open(site.url + path(wanted))
                self._window.arrived(chromium, shown, wanted, state)

    def _act_out(self, call: Call, before: State, after: State, goal: Goal) -> None:
        self._show(before, goal)
        wanted = Place.of(after)
        with self._window.asked() as (site, chromium):
            site.sessions.assign(after.session, Assigned(goal, after.keywords, after.rows))
            if call.name == "click":
                shown = _click(chromium, call.argument.lower(), path(Place.of(before)))
            elif len(path(wanted)) > _LONGEST or not _fits_a_field(call.argument):
                shown = chromium.open(site.url + path(wanted))
            else:
                if before.page != "search":
                    chromium.open(site.address(before.session))
                shown = chromium.search(call.argument)
            self._window.arrived(chromium, shown, wanted, after)


class _Window:
    """The site and the browser of one environment, started when they are first asked for.

    A copy is a window that is not open yet, so that copies of an environment share none.
    """

    def __init__(
        self, programs: Programs, size: tuple[int, int], shop: Shop, task_ids: Sequence[str]
    ) -> None:
        self._programs = programs
        self._size = size
        self._shop = shop
        self._task_ids = task_ids
        self._site: Site | None = None
        self._chromium: Chromium | None = None
        #: what is shown, None where that is not known
        self.place: Place | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> _Window:
        return _Window(self._programs, self._size, self._shop, self._task_ids)

    @contextmanager
    def asked(self) -> Iterator[tuple[Site, Chromium]]:
        """Give out the site and the browser; where anything fails both are closed.

        The page counts as unknown until `arrived` has seen it.
        """
        place, self.place = self.place, None
        try:
            if self._site is None or self._chromium is None:
                self._site = Site.over(self._shop, self._task_ids)
                self._chromium = Chromium(self._programs, *self._size)
            yield self._site, self._chromium
        except BaseException:
            self.close()
            raise
        if self.place is None:
            self.place = place

    def arrived(self, chromium: Chromium, shown: str, wanted: Place, state: State) -> None:
        """Compare the page whose path is `shown` with the one that is wanted.

        Raises:
            BrowserError: it is not the page of `state`, or does not show its score.
        """
        if read(shown) != wanted:
            raise BrowserError(
                f"Expected the browser to show {path(wanted)[:300]}, got {shown[:300]}."
            )
        if state.score is not None:
            told = [text for _, text in chromium.texts("#reward pre")]
            if told != [str(state.score.total)]:
                raise BrowserError(
                    f"Expected the score {state.score.total} on the page, got {told}."
                )
        self.place = wanted

    def close(self) -> None:
        """Close both; harmless when repeated."""
        chromium, site = self._chromium, self._site
        self._chromium = self._site = self.place = None
        try:
            if chromium is not None:
                chromium.close()
        finally:
            if site is not None:
                site.close()


def _click(chromium: Chromium, label: str, here: str) -> str:
    """Click what a label names, and return the path of the page that is shown then.

    Where it names several things, the shop takes it for the first button or product, or else
    for the last option value. A value that is chosen already leads nowhere.
    """
    wanted = _as_shown(label)
    for element, text in chromium.texts("button.btn, a.product-link"):
        if _as_shown(text) == wanted:
            return chromium.click(element)
    for element, text in reversed(chromium.texts(".radio-toolbar label")):
        if _as_shown(text) == wanted:
            return here if chromium.is_chosen(element) else chromium.click(element)
    raise BrowserError(f"Expected {label[:200]!r} on the page, found nothing called so.")


def _as_shown(label: str) -> str:
    """Return a label as browsers read it from a page, in lower case."""
    shown = (
        label.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\N{REPLACEMENT CHARACTER}")
    )
    return shown.lower()


def _fits_a_field(query: str) -> bool:
    return not any(char in "\r\n" or "\ud800" <= char <= "\udfff" for char in query)


def _checked(window: object) -> tuple[int, int]:
    if not isinstance(window, Sequence) or len(window) != 2:
        raise BadArgument(f"Expected `window` to be a width and a height, got {window!r:.80}.")
    width, height = window
    for side in (width, height):
        whole = isinstance(side, int | np.integer) and not isinstance(side, bool)
        if not whole or not _SMALLEST <= side <= _LARGEST:
            raise BadArgument(
                f"Expected the sides of `window` to be {_SMALLEST} to {_LARGEST} pixels, got "
                f"{side!r:.80}."
            )
    return int(width), int(height)
