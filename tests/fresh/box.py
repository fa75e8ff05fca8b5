"""A box: a root directory as a machine of its own, in namespaces, for as long as somebody holds it.

Mounts, processes, network, host name and IPC are the box's; nothing of the machine around it changes, and all of it goes when
the holder ends, even by SIGKILL: its process has the first process of the box killed, and with that one the kernel ends the rest
and takes mounts and interfaces away.  The directory itself is the holder's to remove.

The only way out is an HTTP proxy at 127.0.0.1:PROXY_PORT inside, whose listening socket is made in there and served out here.

    with Box(root, log) as box:
        box.enter()                    # the root directory becomes /
        code = box.run(["ls", "/"])    # its output goes to the log

SPDX-License-Identifier: Apache-2.0
"""
import array
import asyncio
import ctypes
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import urllib.parse

PROXY_PORT = 3128
NODES = ("null", "zero", "full", "random", "urandom", "tty", "kvm", "fuse", "loop-control", "net/tun")
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "TERM": "dumb", "USER": "root"}


# --- outside ---

def die_with_parent():
    """Between fork and exec: the kernel kills this process when the one that made it ends."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)


class Proxy(threading.Thread):
    """Serves a listening socket, of whichever network it is, with this machine's way out: plain requests and CONNECT."""

    def __init__(self, listener, upstream=""):
        super().__init__(daemon=True)
        self.listener, self.upstream = listener, urllib.parse.urlsplit(upstream)

    def run(self):
        asyncio.run(self.serve())

    async def serve(self):
        server = await asyncio.start_server(self.client, sock=self.listener)
        async with server:
            await server.serve_forever()

    async def client(self, reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            line, _, rest = head.partition(b"\r\n")
            method, target, _ = line.decode("latin-1").split(" ", 2)
            await self.forward(method, target, head, rest, reader, writer)
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as why:
            print(f"# proxy: {why}", file=sys.stderr)
        finally:
            writer.close()

    async def forward(self, method, target, head, rest, reader, writer):
        url = urllib.parse.urlsplit("//" + target if method == "CONNECT" else target)
        if self.upstream.hostname:
            out_reader, out_writer = await asyncio.open_connection(self.upstream.hostname, self.upstream.port or 3128)
            out_writer.write(head)
        else:
            out_reader, out_writer = await asyncio.open_connection(url.hostname, url.port or 80)
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            else:  # one request a connection: the end of the answer is the end of it
                path = (url.path or "/") + ("?" + url.query if url.query else "")
                kept = [h for h in rest.split(b"\r\n") if not h.lower().startswith((b"connection:", b"proxy-connection:"))]
                out_writer.write(f"{method} {path} HTTP/1.1\r\n".encode("latin-1") + b"Connection: close\r\n" + b"\r\n".join(kept))
        await asyncio.gather(self.copy(reader, out_writer, False), self.copy(out_reader, writer, True))

    @staticmethod
    async def copy(reader, writer, answer):
        try:
            while chunk := await reader.read(1 << 16):
                writer.write(chunk)
                await writer.drain()
        except OSError:
            pass
        finally:
            if answer or writer.can_write_eof():
                writer.close() if answer else writer.write_eof()


class Box:
    def __init__(self, root, log, upstream=""):
        self.root, self.log, self.upstream = pathlib.Path(root), log, upstream
        self.process = self.line = None

    def __enter__(self):
        self.line, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with inner:
            self.process = subprocess.Popen(
                ["unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--kill-child=KILL", "--propagation", "private",
                 sys.executable, __file__, str(inner.fileno()), str(self.root)],
                pass_fds=[inner.fileno()], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=die_with_parent)
        _, ancillary, _, _ = self.line.recvmsg(16, socket.CMSG_SPACE(array.array("i", [0]).itemsize))
        if not ancillary:
            raise RuntimeError("the box did not come up")
        fds = array.array("i")
        fds.frombytes(ancillary[0][2][:fds.itemsize])
        Proxy(socket.socket(fileno=fds[0]), self.upstream).start()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.line.close()

    def ask(self, timeout, **words):
        self.line.settimeout(timeout)
        self.line.send(json.dumps(words).encode())
        answer = self.line.recv(1 << 16)
        if not answer:
            raise RuntimeError("the box is gone")
        return json.loads(answer)["exit"]

    def run(self, argv, cwd="/", timeout=600, **environment):
        """The exit status; of what was killed, as a shell tells it; 124 if it took too long."""
        try:
            return self.ask(timeout, run=[str(a) for a in argv], cwd=str(cwd), env=environment)
        except TimeoutError:
            return 124

    def enter(self):
        if self.ask(60, enter=True) != 0:
            raise RuntimeError("the root directory cannot become the box's root")


# --- inside: the first process ---

def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)


def dev_fill(dev):
    mount("-t", "tmpfs", "-o", "mode=755,nosuid", "dev", dev)
    for name in NODES:
        real, node = pathlib.Path("/dev") / name, dev / name
        if real.exists():
            node.parent.mkdir(exist_ok=True)
            node.touch()
            mount("--bind", real, node)
    for name in ("pts", "shm"):
        (dev / name).mkdir()
    mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666,mode=620,gid=5", "devpts", dev / "pts")
    mount("-t", "tmpfs", "-o", "mode=1777", "shm", dev / "shm")
    for name, to in (("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        (dev / name).symlink_to(to)


def enter(root):
    """pivot_root and not chroot: what runs in here makes namespaces and pivots itself, which a chroot would not let it."""
    mount("--rbind", root, root)
    mount("-t", "proc", "proc", root / "proc")
    mount("-t", "sysfs", "sysfs", root / "sys")
    mount("-t", "tmpfs", "-o", "mode=755", "run", root / "run")
    dev_fill(root / "dev")
    old = root / "run/outside"
    old.mkdir()
    subprocess.run(["pivot_root", root, old], check=True)
    os.chdir("/")
    subprocess.run(["umount", "--lazy", "/run/outside"], check=True)
    os.rmdir("/run/outside")
    return 0


def run(words):
    """Everything whose parent has ended is ours to bury; who waits for it would otherwise see it for ever."""
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            os.chdir(words["cwd"])
            os.execvpe(words["run"][0], words["run"], {**ENVIRONMENT, **words["env"]})
        except OSError as why:
            print(why, file=sys.stderr, flush=True)
        os._exit(127)
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def bury(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def inside(line, root):
    socket.sethostname("fresh")
    subprocess.run(["mount", "-t", "proc", "proc", "/proc"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with socket.create_server(("127.0.0.1", PROXY_PORT)) as listener:
        line.sendmsg([b"up"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener.fileno()]))])
    while request := line.recv(1 << 16):
        words = json.loads(request)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        code = enter(root) if "enter" in words else run(words)
        line.send(json.dumps({"exit": code}).encode())
        signal.signal(signal.SIGCHLD, bury)  # between two of them
        bury()


if __name__ == "__main__":
    inside(socket.socket(fileno=int(sys.argv[1])), pathlib.Path(sys.argv[2]))
