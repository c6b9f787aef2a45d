"""A headless Chromium with one window: found, started, asked, photographed and closed."""

from __future__ import annotations

import importlib.util
import io
import os
import shutil
import signal
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from agentenvs.errors import BrowserError

if TYPE_CHECKING:
    from selenium.webdriver import Remote
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.remote.webelement import WebElement

__all__ = ["Chromium", "Programs"]

_INSTALL = (
    'Install Selenium with pip install "agentenvs[browser]", and the browser with its driver, on '
    "Debian and Ubuntu by apt-get install chromium chromium-driver. Programs elsewhere are named "
    "by AGENTENVS_CHROMIUM and AGENTENVS_CHROMEDRIVER."
)
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_DRIVERS = ("chromedriver", "chromium.chromedriver")
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No name is looked up: nothing but this machine is reached, whatever a page might ask for.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
#: seconds that one action may take before the browser counts as failed
_PATIENCE = 60.0
_POLL = 0.005
#: seconds that a browser has to end in, and then again for its last files to go
_GRACE = 10.0
#: a mark on the page that is about to be left; the next one has none
_MARK = "window.agentenvsLeft = true;"
_THERE = """
return window.agentenvsLeft === undefined && document.readyState === 'complete'
    && document.body?.dataset.page !== undefined ? location.pathname : null;"""


class Programs:
    """Where the browser and its driver are.

    Args:
        browser: path of the browser, or None to look for one.

    Raises:
        BrowserError: the browser, its driver or Selenium is missing; the text says what to
            install.
    """

    def __init__(self, browser: str | None = None) -> None:
        if importlib.util.find_spec("selenium") is None or importlib.util.find_spec("PIL") is None:
            raise BrowserError(f"The browser environment needs Selenium and Pillow. {_INSTALL}")
        self.browser = _program("Chromium", browser, "AGENTENVS_CHROMIUM", _BROWSERS)
        self.driver = _program("chromedriver", None, "AGENTENVS_CHROMEDRIVER", _DRIVERS)


def _program(what: str, given: str | None, variable: str, names: tuple[str, ...]) -> str:
    wanted = given or os.environ.get(variable)
    found = shutil.which(wanted) if wanted else next(filter(None, map(shutil.which, names)), None)
    if found is None:
        where = f"at {wanted!r}" if wanted else f"as {', '.join(names)} in PATH"
        raise BrowserError(f"Expected {what} {where}, found none. {_INSTALL}")
    return found


class Chromium:
    """A running browser with a fresh profile of its own; closed when it is dropped.

    Args:
        programs: where it is.
        width: of the page, in pixels.
        height: of the page, in pixels.

    Raises:
        BrowserError: it does not start.
    """

    def __init__(self, programs: Programs, width: int, height: int) -> None:
        profile = tempfile.mkdtemp(prefix="agentenvs-chromium-")
        try:
            with _told("start"):
                self._driver, self.service = _started(programs, profile)
            self._close = weakref.finalize(self, _closed, self._driver, self.service, profile)
        except BaseException:
            shutil.rmtree(profile, ignore_errors=True)
            raise
        with _told("size its window"):
            self._driver.set_page_load_timeout(_PATIENCE)
            metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            command = {"cmd": "Emulation.setDeviceMetricsOverride", "params": metrics}
            self._driver.execute("executeCdpCommand", command)

    def close(self) -> None:
        """End the browser and remove its profile; harmless when repeated."""
        self._close()

    def open(self, address: str) -> str:
        """Go to an address, wait for its page, and return the path of that."""
        with _told("open a page"):
            self._run(_MARK)
            self._driver.get(address)
            return self._arrived()

    def search(self, query: str) -> str:
        """Type into the search field, as far as keys do, submit, and return the new path."""
        from selenium.webdriver.common.keys import Keys

        typed = len(query) <= 500 and all(_has_key(char) for char in query)
        with _told("search"):
            field = self._run(
                f"{_MARK} const field = document.getElementById('search_input');"
                "field.value = arguments[0]; return field;",
                "" if typed else query,
            )
            field.send_keys((query if typed else "") + Keys.ENTER)
            return self._arrived()

    def texts(self, selector: str) -> list[tuple[WebElement, str]]:
        """Return the elements that a CSS selector finds, each with its text."""
        script = "return [...document.querySelectorAll(arguments[0])].map(e => [e, e.textContent])"
        with _told("read a page"):
            return [(element, text) for element, text in self._run(script, selector)]

    def click(self, element: WebElement) -> str:
        """Click an element that leads to another page, and return the path of that."""
        with _told("click"):
            self._run(f"{_MARK} arguments[0].scrollIntoView({{block: 'center'}});", element)
            element.click()
            return self._arrived()

    def is_chosen(self, label: WebElement) -> bool:
        """Return whether the option value of a label is the chosen one of its group."""
        with _told("read a page"):
            return bool(self._run("return arguments[0].control.checked", label))

    def photograph(self) -> npt.NDArray[np.uint8]:
        """Return the page as it is seen: height x width x 3, red, green and blue."""
        from PIL import Image

        with _told("photograph a page"):
            png = self._driver.get_screenshot_as_png()
        with Image.open(io.BytesIO(png)) as image:
            return np.asarray(image.convert("RGB"), dtype=np.uint8)

    def _run(self, script: str, *arguments: Any) -> Any:
        return self._driver.execute_script(script, *arguments)

    def _arrived(self) -> str:
        """Wait until the marked page is gone and the next one is there, and return its path.

        Selenium waits for pages that it opens, and not always for those that a click leads to.
        """
        from selenium.common.exceptions import (
            InvalidSessionIdException,
            NoSuchWindowException,
            TimeoutException,
            WebDriverException,
        )

        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            try:
                path = self._run(_THERE)
            except (InvalidSessionIdException, NoSuchWindowException):
                raise
            except WebDriverException as problem:
                # A script may meet a page that is just being left.
                if "disconnected" in str(problem) or "not reachable" in str(problem):
                    raise
                path = None
            if path is not None:
                return str(path)
            time.sleep(_POLL)
        raise TimeoutException(f"no page within {_PATIENCE:g} s")


def _started(programs: Programs, profile: str) -> tuple[Remote, Service]:
    from selenium.webdriver import ChromeOptions, Remote
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.chromium.remote_connection import ChromiumRemoteConnection
    from selenium.webdriver.common.proxy import Proxy, ProxyType
    from selenium.webdriver.remote.client_config import ClientConfig

    options = ChromeOptions()
    options.binary_location = programs.browser
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    quiet = {"SE_OFFLINE": "true", "SE_AVOID_STATS": "true"}
    own = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_CACHE_HOME"), profile)
    service = Service(programs.driver, env={**os.environ, **quiet, **own})
    service.start()
    try:
        address = service.service_url
        # A proxy of the surroundings would be asked for this machine's own driver.
        direct = Proxy({"proxyType": ProxyType.DIRECT})
        config = ClientConfig(address, proxy=direct, timeout=int(2 * _PATIENCE))
        connection = ChromiumRemoteConnection(address, "goog", "chrome", client_config=config)
        return Remote(connection, options=options), service
    except BaseException:
        service.stop()
        raise


def _closed(driver: Remote, service: Service, profile: str) -> None:
    try:
        with _told("close"):
            driver.quit()
    except BrowserError:
        _end(driver.capabilities.get("goog:processID"), profile)
    finally:
        service.stop()
        # A browser that is being ended may still write, longer so on a busy machine.
        for _ in _within(_GRACE):
            shutil.rmtree(profile, ignore_errors=True)
            if not os.path.exists(profile):
                break


def _end(process: object, profile: str) -> None:
    """End a browser whose driver is gone; without its driver it would run for ever."""
    if not isinstance(process, int):
        return
    for way in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if not _runs(process, profile):
            return
        with suppress(OSError):
            os.kill(process, way)
        for _ in _within(_GRACE):
            if not _runs(process, profile):
                return


def _runs(process: int, profile: str) -> bool:
    """Whether a process is the browser with this profile, as far as this system tells."""
    try:
        return profile.encode() in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        if os.path.exists("/proc"):
            return False
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def _within(seconds: float) -> Iterator[None]:
    """Give turns with a pause between them until so many seconds are over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(0.05)


def _has_key(char: str) -> bool:
    """Whether a character can be typed: the driver takes some for keys, and refuses others."""
    return char.isprintable() and ord(char) < 0xE000


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Turn what Selenium and its connection raise into the one error."""
    from selenium.common.exceptions import WebDriverException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except (WebDriverException, HTTPError, OSError) as problem:
        told = str(problem).strip().partition("\n")[0]
        raise BrowserError(
            f"The browser could not {what}: {type(problem).__name__}: {told[:300]}"
        ) from problem
