"""serve.py - a server of the contract test's own: started, killed and started again on the same data"""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import subprocess
import time

PATIENCE_S = 60
PLUGINS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "plugins"


class Process:
    """A program that says on its output when and on which port it is ready."""

    def __init__(self, command, work, said):
        self.command, self.said = command, re.compile(said)
        self.log, self.process, self.port = pathlib.Path(work) / "output", None, 0

    def start(self):
        with open(self.log, "ab") as output:
            offset = output.tell()
            self.process = subprocess.Popen(self.command(self.port), stdin=subprocess.PIPE, stdout=output,
                                            stderr=output)
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            found = self.said.search(self.log.read_bytes()[offset:])
            if found:
                self.port = int(found.group(1))
                return f"http://127.0.0.1:{self.port}"
            if self.process.poll() is not None:
                break
            time.sleep(0.01)  # between two looks at its output, bounded by PATIENCE_S
        raise RuntimeError("the server did not start:\n" + self.log.read_text(errors="replace"))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Its status: 0 if it ended in order."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.stdin.close()
        return self.process.wait(PATIENCE_S)


def anneald(program, work):
    """Nodes are dead after a second of silence, and a restart waits a second for its workers."""

    def command(port):
        return [program, "--data-dir", str(pathlib.Path(work) / "data"), "--listen", f"127.0.0.1:{port}",
                "--set", "node_access=local", "--set", "dead_after=1s", "--set", "recover_grace=1s",
                "--set", f"plugin_path={PLUGINS}"]
    return Process(command, work, rb"server\.ready .*?port=(\d+)")


def fake(program, work):
    return Process(lambda port: [program, f"127.0.0.1:{port}"], work, rb"ready (\d+)")
