"""The server under test, and requests to it that are repeated until they are answered."""

import dataclasses
import http.client
import json
import os
import pathlib
import subprocess
import threading
import time
import uuid

KEY = "vk_for-the-chaos-tests-only-0123456789"
# Whoever waits this long for an answer has found a server that does not come back.
PATIENCE = 120.0
READY_WITHIN = 60.0


class Gone(Exception):
    """The server died before it answered: whether the request was carried out is not known."""


class NotThere(Exception):
    """Nobody took the request."""


@dataclasses.dataclass
class Answer:
    status: int
    body: dict | list | str
    # How many requests were sent before the one that was answered, and may have been carried out.
    unanswered: int = 0

    @property
    def is_fine(self) -> bool:
        return self.status < 300


class Server:
    """A real server on a data directory, which can be killed and started again."""

    def __init__(self, program: str, data: pathlib.Path) -> None:
        self.program, self.data = program, data
        self.process, self.address = None, None
        self.lock = threading.Lock()
        self.requests = self.repetitions = 0
        self.slowest_start = 0.0
        self.log = (data.parent / "server.log").open("ab")

    def start(self) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PROCTOR_")}
        environment["PROCTOR_BOOTSTRAP_KEY"] = KEY
        command = [self.program, "serve", "--json", "--listen", "127.0.0.1:0", "--log", "warn"]
        # Enough that everything that was scored can be scored again at the end.
        command += ["--keep-frozen", "100000", "--data", str(self.data)]
        began = time.monotonic()
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=self.log, text=True)
        said = self.process.stdout.readline()
        if not said:
            raise SystemExit(f"the server did not start; see {self.log.name}")
        self.slowest_start = max(self.slowest_start, time.monotonic() - began)
        self.address = json.loads(said)["url"].removeprefix("http://")

    def kill(self) -> None:
        self.address = None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(timeout=READY_WITHIN)

    def try_ask(self, method: str, path: str, body, key: str, request_id: str | None, timeout: float) -> Answer:
        address = self.address
        if address is None:
            raise NotThere
        connection = http.client.HTTPConnection(address, timeout=timeout)
        headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        if request_id:
            headers["x-request-id"] = request_id
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            text = response.read().decode()
        except ConnectionRefusedError as error:
            raise NotThere from error
        except (OSError, http.client.HTTPException) as error:
            raise Gone from error
        finally:
            connection.close()
        try:
            return Answer(response.status, json.loads(text))
        except json.JSONDecodeError:
            return Answer(response.status, text)

    def ask(self, method: str, path: str, body=None, key: str = KEY, once: bool = True, request_id: str | None = None) -> Answer:
        """Asks until there is an answer. A repetition carries the same `x-request-id`, if it is to be done once."""
        if once and method != "GET" and request_id is None:
            request_id = str(uuid.uuid4())
        began, unanswered = time.monotonic(), 0
        while True:
            try:
                answer = self.try_ask(method, path, body, key, request_id, timeout=40.0)
                self.count(unanswered)
                # Busy or being drained: nothing was changed.
                if answer.status not in (429, 503):
                    answer.unanswered = unanswered
                    return answer
            except Gone:
                self.count(unanswered)
                unanswered += 1
            except NotThere:
                pass
            if time.monotonic() - began > PATIENCE:
                raise TimeoutError(f"{method} {path}: no answer for {PATIENCE:.0f} s")
            time.sleep(0.03)

    def count(self, unanswered: int) -> None:
        with self.lock:
            self.requests += 1
            self.repetitions += unanswered > 0

    def get(self, path: str, key: str = KEY):
        answer = self.ask("GET", path, key=key)
        if not answer.is_fine:
            raise AssertionError(f"GET {path}: {answer.status} {answer.body}")
        return answer.body

    def post(self, path: str, body=None, **more):
        answer = self.ask("POST", path, body if body is not None else {}, **more)
        if not answer.is_fine:
            raise AssertionError(f"POST {path}: {answer.status} {answer.body}")
        return answer.body

    def everything(self, path: str, member: str) -> list:
        """All pages of a list."""
        found, after = [], ""
        while True:
            joint = "&" if "?" in path else "?"
            page = self.get(f"{path}{joint}limit=500{after}")
            found += page[member]
            if not page.get("has_more") or not page[member]:
                return found
            after = f"&starting_after={page[member][-1]['id']}"
