"""Drives a headless Chromium over its DevTools protocol on two pipes; nothing but the standard
library. https://chromedevtools.github.io/devtools-protocol"""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def find():
    """The path of an installed browser, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One browser process with one page at a time."""

    def __init__(self, path):
        self.profile = tempfile.mkdtemp(prefix="tokenline-browser-")
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()
        # The browser reads descriptor 3 and writes 4: neither may be one of the pipes before that.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]

        def wire():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            [path, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--disable-dev-shm-usage", f"--user-data-dir={self.profile}", "about:blank"],
            pass_fds=(3, 4), preexec_fn=wire, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (to_browser, from_browser, *ends):
            os.close(end)
        self.buffer = b""
        self.calls = 0
        self.session = None
        self.events = []

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.read)
        os.close(self.write)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _receive(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.read, 1 << 20)
            if not piece:
                raise EOFError("the browser has ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, timeout=60.0, **parameters):
        """The result of one command; events on the way are kept."""
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write, data):]
        deadline = time.monotonic() + timeout
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self.calls:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def open(self, url, width=1280, height=900, dark=False, touch=False):
        """Opens a page of this size; returns the seconds until it says that it is ready."""
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.events = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=touch)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        begin = time.monotonic()
        self.call("Page.navigate", url=url)
        while not self.evaluate("document.documentElement?.dataset.ready === 'true'"):
            if self.problems():
                raise AssertionError(self.problems())
            if time.monotonic() - begin > 60:
                raise TimeoutError("the page does not become ready")
        # Two frames: what was built has been laid out and painted.
        return self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame("
                             "() => done(performance.now() / 1000))))")

    def evaluate(self, expression):
        """The value of a JavaScript expression, which may be a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise AssertionError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, condition, timeout=10.0):
        """Whether a JavaScript condition comes true in time: what is redrawn takes some frames."""
        deadline = time.monotonic() + timeout
        while not (true := self.evaluate(f"!!({condition})")) and time.monotonic() < deadline:
            time.sleep(0.02)
        return true

    def problems(self):
        """Errors of the page, and requests that go anywhere but to the file itself."""
        found = []
        for event in self.events:
            method, values = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                details = values["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
                found.append(values["entry"]["text"])
            elif method == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning"):
                found.append(str(values["args"]))
            elif method == "Network.requestWillBeSent":
                if not values["request"]["url"].startswith("file://"):
                    found.append(f"request to {values['request']['url']}")
        return found

    def click(self, selector):
        """A press of the mouse in the middle of the first element."""
        box = self.evaluate(f"""(() => {{
            const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: 'center', behavior: 'instant'}});
            const r = e.getBoundingClientRect();
            return [r.x + r.width / 2, r.y + r.height / 2];
        }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left",
                      clickCount=1)

    def press(self, key, code=None, text=None):
        """One key, as a user presses it."""
        numbers = {"Tab": 9, "Enter": 13, " ": 32, "ArrowRight": 39}
        values = {"key": key, "code": code or key, "windowsVirtualKeyCode": numbers[key]}
        if text:
            values["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown", **values)
        self.call("Input.dispatchKeyEvent", type="keyUp", **values)

    def screenshot(self, path, full=True):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=full,
                         **({"clip": self._whole()} if full else {}))["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def _whole(self):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
