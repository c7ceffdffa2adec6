"""A headless Chromium for tests: pages as a person would see them, and what is wrong with how they look.

It is driven through the pipes of its DevTools, so nothing but the browser is needed. A page may forbid itself scripts: DevTools are not
bound by that.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import F_DUPFD, fcntl
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe"),
)

_START = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
"""Chromium reads its commands from descriptor 3 and answers on 4."""

LOOK = r"""
(() => {
  const problems = [], wide = innerWidth, shown = e => e.checkVisibility && e.checkVisibility({checkVisibilityCSS: true});
  const name = e => e.tagName.toLowerCase() + (e.className && e.className.baseVal === undefined ? '.' + e.className : '');
  if (document.documentElement.scrollWidth > wide) problems.push('page is ' + document.documentElement.scrollWidth + ' px wide');
  const numbers = text => (text.match(/[\d.]+/g) || []).map(Number);
  const light = text => {
    const [r, g, b] = numbers(text).map(x => (x /= 255) <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = e => {
    for (; e; e = e.parentElement) {
      const color = getComputedStyle(e).backgroundColor, parts = numbers(color);
      if (parts.length === 3 || parts[3] === 1) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, e = node.parentElement;
    if (!node.data.trim() || !shown(e) || e.tagName === 'title') continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects())
      if (box.width > 0) texts.push({node, left: box.left, right: box.right, top: box.top + 2, bottom: box.bottom - 2});
    const pair = [light(getComputedStyle(e).color), light(behind(e))].sort((a, b) => b - a);
    const contrast = (pair[0] + .05) / (pair[1] + .05);
    if (contrast < 4.5) problems.push('contrast ' + contrast.toFixed(1) + ' of ' + JSON.stringify(node.data.trim().slice(0, 40)));
  }
  for (const text of texts)
    if (text.left < -.5 || text.right > wide + .5)
      problems.push('text off the screen at ' + Math.round(text.right) + ': ' + JSON.stringify(text.node.data.trim().slice(0, 40)));
  for (const e of document.body.querySelectorAll('*')) {
    if (!shown(e)) continue;
    const box = e.getBoundingClientRect();
    if (box.width && (box.left < -.5 || box.right > wide + .5)) problems.push(name(e) + ' reaches ' + Math.round(box.right));
    if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth && getComputedStyle(e).overflowX !== 'visible')
      problems.push(name(e) + ' hides ' + (e.scrollWidth - e.clientWidth) + ' px');
  }
  texts.sort((a, b) => a.top - b.top);
  texts.forEach((one, at) => {
    for (let i = at + 1; i < texts.length && texts[i].top < one.bottom; i++) {
      const other = texts[i];
      if (other.node !== one.node && Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1)
        problems.push('overlap of ' + JSON.stringify(one.node.data.trim().slice(0, 40)) + ' and '
          + JSON.stringify(other.node.data.trim().slice(0, 40)));
    }
  });
  return {problems: problems.slice(0, 20), texts: texts.length, height: document.documentElement.scrollHeight};
})()
"""
"""What a person could not read: text that is off the screen, cut, on other text, or too faint."""


class Chromium:
    """A running browser with one page."""

    def __init__(self, to_browser: BufferedWriter, from_browser: BufferedReader) -> None:
        self._out = to_browser
        self._in = from_browser
        self._number = 0
        self._rest = b""
        self.requests: list[str] = []
        """The addresses that the page asked for since it was opened."""
        target = self._ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._session = self._ask("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Network"):
            self._ask(f"{domain}.enable", session=self._session)

    def open(self, page: Path, width: int, *, is_dark: bool) -> None:
        """Show a page at a width of CSS pixels, in the reader's light or dark theme."""
        self.requests = []
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self._ask("Emulation.setDeviceMetricsOverride", size, session=self._session)
        theme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self._ask("Emulation.setEmulatedMedia", {"features": [theme]}, session=self._session)
        self._ask("Page.navigate", {"url": page.resolve().as_uri()}, session=self._session, until="Page.loadEventFired")

    def look(self) -> dict[str, Any]:
        """What is wrong with how the page looks (`problems`), and how many pieces of text and how high it is."""
        answer = self._ask("Runtime.evaluate", {"expression": LOOK, "returnByValue": True}, session=self._session)
        assert "exceptionDetails" not in answer, answer
        seen: dict[str, Any] = answer["result"]["value"]
        return seen

    def picture(self, path: Path, width: int, height: int) -> None:
        """The top of the page as a PNG."""
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        data = self._ask("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}, session=self._session)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """End the browser."""
        self._ask("Browser.close")

    def _ask(self, method: str, params: dict[str, Any] | None = None, *, session: str = "", until: str = "") -> dict[str, Any]:
        """The answer to a command of DevTools, after the event `until` where one is named."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params or {}, **({"sessionId": session} if session else {})}
        self._out.write(json.dumps(message).encode() + b"\0")
        self._out.flush()
        result: dict[str, Any] | None = None
        has_happened = not until
        while result is None or not has_happened:
            said = self._read()
            if said.get("id") == self._number:
                assert "error" not in said, said
                result = said["result"]
            has_happened |= said.get("method") == until
            if said.get("method") == "Network.requestWillBeSent":
                self.requests.append(said["params"]["request"]["url"])
        return result

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            data = self._in.read1(1 << 20)
            assert data, "Chromium has ended"
            self._rest += data
        text, _, self._rest = self._rest.partition(b"\0")
        said: dict[str, Any] = json.loads(text)
        return said


@contextmanager
def chromium(work: Path) -> Iterator[Chromium]:
    """A browser whose profile lies in `work`; skips, and says why, where there is none."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(
            f"no Chromium is installed ({', '.join(NAMES)}): tests/tables/reports/test_timeline_chart.py checks the labels without it"
        )
    asks_read, asks = os.pipe()
    answers, answers_write = os.pipe()
    words = [program, *FLAGS, f"--user-data-dir={work / 'profile'}"]
    ends = (fcntl(asks_read, F_DUPFD, 10), fcntl(answers_write, F_DUPFD, 10))
    process = subprocess.Popen(
        [sys.executable, "-c", _START, *map(str, ends), *words], pass_fds=ends, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    for end in (asks_read, answers_write, *ends):
        os.close(end)
    with os.fdopen(asks, "wb") as to_browser, os.fdopen(answers, "rb") as from_browser:
        try:
            browser = Chromium(to_browser, from_browser)
            yield browser
            browser.close()
            process.wait(10)
        finally:
            process.kill()
            process.wait()
