"""A headless Chromium with one window: found, started, asked, photographed and closed."""

from __future__ import annotations

import importlib.util
import io
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

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
                self._driver, service = _started(programs, profile)
            self._close = weakref.finalize(self, _closed, self._driver, service, profile)
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

    @property
    def path(self) -> str:
        """The path of the page that is shown, as it stands in the address bar."""
        with _told("tell its address"):
            return urlsplit(self._driver.current_url).path

    def open(self, address: str) -> None:
        """Go to an address and wait for its page."""
        with _told("open a page"):
            self._driver.get(address)
            self._settle()

    def search(self, query: str) -> None:
        """Type into the search field, as far as keys do, and submit."""
        from selenium.webdriver.common.by import By
        from selenium.webdriver.common.keys import Keys

        with _told("search"), self._leaving():
            field = self._driver.find_element(By.ID, "search_input")
            if len(query) <= 500 and all(_has_key(char) for char in query):
                field.clear()
                field.send_keys(query)
            else:
                self._driver.execute_script("arguments[0].value = arguments[1]", field, query)
            field.send_keys(Keys.ENTER)

    def texts(self, selector: str) -> list[tuple[WebElement, str]]:
        """Return the elements that a CSS selector finds, each with its text."""
        script = "return [...document.querySelectorAll(arguments[0])].map(e => [e, e.textContent])"
        with _told("read a page"):
            return [(element, text) for element, text in self._run(script, selector)]

    def click(self, element: WebElement) -> None:
        """Click an element that leads to another page, and wait for that."""
        with _told("click"), self._leaving():
            self._run(
                "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element
            )
            element.click()

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

    @contextmanager
    def _leaving(self) -> Iterator[None]:
        """Wait, after what is done within, until the old page is gone and the new one is there.

        Selenium waits for pages that it opens, not for those that a click leads to.
        """
        from selenium.webdriver.common.by import By
        from selenium.webdriver.support.expected_conditions import staleness_of
        from selenium.webdriver.support.wait import WebDriverWait

        old = self._driver.find_element(By.TAG_NAME, "html")
        yield
        WebDriverWait(self._driver, _PATIENCE, _POLL).until(staleness_of(old))
        self._settle()

    def _settle(self) -> None:
        from selenium.webdriver.support.wait import WebDriverWait

        ready = (
            "return document.readyState === 'complete' && document.body !== null "
            "&& document.body.dataset.page !== undefined"
        )
        WebDriverWait(self._driver, _PATIENCE, _POLL).until(lambda _: self._run(ready))


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
    environment = {**os.environ, "SE_OFFLINE": "true", "SE_AVOID_STATS": "true"}
    service = Service(programs.driver, env=environment)
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
        # It was gone already.
        pass
    finally:
        service.stop()
        shutil.rmtree(profile, ignore_errors=True)


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
