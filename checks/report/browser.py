"""A headless Chromium, driven over the WebDriver protocol by Debian's chromedriver; the standard library is enough.

`Browser` opens pages from files, runs scripts in them, and tells what the console said. No network is needed: the
browser is told to resolve no name.
"""

import base64
import json
import pathlib
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from types import TracebackType
from typing import Any

# The timeout for opening a page on a busy machine, in seconds.
PATIENCE = 60


class Browser:
    """A window of 1366 x 768 pixels. Downloads are saved in `downloads`."""

    def __init__(self, downloads: pathlib.Path) -> None:
        driver = shutil.which("chromedriver")
        if driver is None or shutil.which("chromium") is None:
            raise SystemExit("Chromium is needed: install it with 'sudo apt-get install chromium chromium-driver'.")
        self.process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True)
        self.address = f"http://127.0.0.1:{self._port()}"
        options = {
            "binary": shutil.which("chromium"),
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--window-size=1366,768"],
            "prefs": {"download.default_directory": str(downloads), "download.prompt_for_download": False},
        }
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        try:
            session = self._post("/session", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self.process.terminate()
            raise
        self.session = f"/session/{session['sessionId']}"
        self.devtools("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        self.devtools("Emulation.setDeviceMetricsOverride", width=1366, height=768, deviceScaleFactor=1, mobile=False)

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            self._send("DELETE", self.session, None)
        finally:
            self.process.terminate()
            self.process.wait()

    def open(self, page: pathlib.Path) -> None:
        """Opens a file and waits until it is loaded; discards earlier console messages."""
        self.console()
        self._post(f"{self.session}/url", {"url": page.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """Runs a script, which ends with a return statement, and returns its result."""
        return self._post(f"{self.session}/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script: str, *arguments: Any) -> Any:
        """Runs a script again and again until its result is not null, and returns the result."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            found = self.run(script, *arguments)
            if found is not None and found is not False:
                return found
            time.sleep(0.05)
        raise AssertionError(f"nothing came of it in {PATIENCE} s: {script}")

    def console(self) -> list[str]:
        """The console's warnings and errors since the last call."""
        entries = self._post(f"{self.session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("WARNING", "SEVERE")]

    def devtools(self, command: str, **parameters: Any) -> Any:
        """Runs a command of the developer tools and returns its result."""
        return self._post(f"{self.session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def picture(self, width: int) -> bytes:
        """A picture of the whole page, as PNG."""
        height = self.run("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(shot["data"])

    def pdf(self) -> bytes:
        """The page printed on A4, as PDF."""
        paper = self.devtools("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69)
        return base64.b64decode(paper["data"])

    def _port(self) -> int:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "started successfully on port" in line:
                return int(line.rstrip(".\n").rsplit(" ", 1)[1])
        raise SystemExit("chromedriver did not start.")

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return self._send("POST", path, body)

    def _send(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            said = json.load(error)["value"]
            raise AssertionError(f"{said['error']}: {said['message'].splitlines()[0]}") from None
