"""Orders by ``place_order``, in an application process of its own."""

import json
import subprocess
import sys
import time

from tests.chaos.doors.door import AGAIN_SECONDS, Door
from tests.chaos.doors.purchases import Purchase
from tests.chaos.system import ROOT


class DirectDoor(Door):
    name = "direct"
    _process: subprocess.Popen[str] | None = None

    def send(self, purchase: Purchase) -> None:
        since = time.monotonic()
        line = json.dumps({"key": purchase.key, "body": purchase.body}) + "\n"
        while not self.ended.is_set():
            answer = self._ask(line)
            if not answer:
                self._end()
                self.ended.wait(AGAIN_SECONDS)
                continue
            found = json.loads(answer)
            if "refused" in found:
                self.refuse(purchase, found["refused"])
            else:
                self.accept(purchase, int(found["number"]), since)
            return

    def crash(self) -> bool:
        process = self._process
        if process is None or process.poll() is not None:
            return False
        process.kill()
        return True

    def close(self) -> None:
        self.ended.set()
        self._end()
        super().close()

    def _ask(self, line: str) -> str:
        """Return the process's answer; nothing when it died over it."""
        if self._process is None:
            self._process = self._start()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
            return self._process.stdout.readline()
        except (OSError, ValueError):
            return ""

    def _start(self) -> subprocess.Popen[str]:
        with self.system.log_of("direct").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.doors.direct_process"],
                cwd=ROOT,
                env=self.system.env(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(10)
