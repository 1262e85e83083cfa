"""Where does the test-suite get a real RabbitMQ from?

`get_broker` takes the first of: the server named by BPC_TEST_AMQP_URL, a private node of an
installed rabbitmq-server, the compose service, a private node of a rabbitmq-server installed now
(Debian, as root). `get_node` always gives a private node, for tests that kill, block or damage it.
"""

import atexit
import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypeVar

T = TypeVar("T")

START_LIMIT: Final = 120.0
STOP_LIMIT: Final = 60.0
COMPOSE_FILE: Final = Path(__file__).parents[2] / "compose.yaml"
START_FORBIDDEN: Final = 101
POLICY_FILE: Final = Path("/usr/sbin/policy-rc.d")
POLICY: Final = "#!/bin/sh\n# Temporary, by the tests of bpc-worker: install, but start nothing.\nexit 101\n"
# Waits for the end of a pipe that we hold, which is our own end, however it came.
GUARD: Final = 'read -r _; for g in $(cat "$1/groups"); do kill -9 "-$g"; done; rm -rf "$1"'


class Unavailable(Exception):  # noqa: N818 - a fact about this machine
    """Something that tests need cannot be had here; the text says what was tried."""


class BrokerUnavailable(Unavailable):
    """No RabbitMQ."""


@dataclass(frozen=True, slots=True)
class Queue:
    name: str
    messages: int
    consumers: int


class RabbitNode:
    """A RabbitMQ on 127.0.0.1 with a folder and an epmd of its own; restarts keep the port."""

    def __init__(self, scripts: Path | None = None) -> None:
        found, epmd = scripts or find_scripts(), shutil.which("epmd")
        if found is None or epmd is None:
            raise BrokerUnavailable("rabbitmq-server or Erlang's epmd is not installed")
        self._scripts, self._epmd = found, epmd
        self._port, self._dist_port, self._epmd_port = _free_ports(3)
        self.folder = Path(tempfile.mkdtemp(prefix="bpc-rabbitmq-"))
        cookie = self.folder / ".erlang.cookie"
        cookie.write_text(secrets.token_hex())
        cookie.chmod(0o400)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        atexit.register(self.close)

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self._port}/"

    @property
    def pid(self) -> int | None:
        """The Erlang machine's process, not that of the script around it. None: not running."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            return int((self.folder / "pid").read_text())
        return None

    def start(self) -> None:
        """Return when the node speaks AMQP."""
        if "server" in self._processes and self._gone("server", 0):
            self.kill()  # somebody else did; this clears up
        if "guard" not in self._processes:
            self._spawn("guard", "sh", "-c", GUARD, "guard", str(self.folder))
        if "epmd" not in self._processes:
            self._spawn("epmd", self._epmd, "-port", str(self._epmd_port))
            self._await("epmd", lambda: _answers(self._epmd_port))
        if "server" not in self._processes:
            self._spawn("server", str(self._scripts / "rabbitmq-server"))
            self._await("server", lambda: speaks_amqp(self._port))

    def stop(self) -> None:
        """Shut down in good order."""
        if "server" in self._processes:
            self._processes["server"].terminate()
            self._gone("server", STOP_LIMIT)
            self.kill()

    def kill(self) -> None:
        """End the Erlang machine without a chance to say goodbye."""
        if "server" in self._processes:
            pid = self.pid
            # The script waits for the machine: once it has ended, the number is nobody's.
            if pid is not None and not self._gone("server", 0):
                _send_kill(os.kill, pid)
                self._gone("server", STOP_LIMIT)
            self._bury("server")
            (self.folder / "pid").unlink(missing_ok=True)

    def restart(self) -> None:
        self.stop()
        self.start()

    def close(self) -> None:
        """End everything this object started and remove its folder."""
        atexit.unregister(self.close)
        self.stop()
        for name in tuple(self._processes):
            self._bury(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def ctl(self, *args: str, tool: str = "rabbitmqctl") -> str:
        """What rabbitmqctl (or another `tool` of the broker) printed. Takes a second or two."""
        done = _run([str(self._scripts / tool), *args], limit=60, env=self._environment())
        if done.returncode != 0:
            raise RuntimeError(f"{tool} {' '.join(args)}: {done.stdout}{done.stderr}")
        return done.stdout

    def list_queues(self) -> list[Queue]:
        rows = self.ctl("list_queues", "-q", "--formatter=json", "name", "messages", "consumers")
        return [Queue(**row) for row in json.loads(rows)]

    def delete_queue(self, name: str) -> None:
        """Take a queue away, also an exclusive one."""
        self.ctl("delete_queue", name)

    def delete_exchange(self, name: str) -> None:
        exchange = f"rabbit_misc:r(<<$/>>, exchange, <<{','.join(map(str, name.encode()))}>>)"
        self.ctl("eval", f"ok = rabbit_exchange:delete({exchange}, false, <<$t>>).")

    def memory_alarm(self, on: bool) -> None:  # noqa: FBT001 - an alarm is on or off
        """Block whoever publishes, as a broker short of memory does; or let them go on."""
        self.ctl("set_vm_memory_high_watermark", "0.000001" if on else "0.4")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _environment(self) -> Mapping[str, str]:
        folder = str(self.folder)
        return {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "LC_ALL": "C.UTF-8",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._epmd_port),
            # For the server and for every rabbitmqctl: no epmd but ours, no door to the network.
            "ERL_FLAGS": "-start_epmd false -kernel inet_dist_use_interface {127,0,0,1}",
            "RABBITMQ_NODENAME": f"bpc-{self._port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self._port),
            "RABBITMQ_DIST_PORT": str(self._dist_port),
            "RABBITMQ_CTL_DIST_PORT_MIN": "0",
            "RABBITMQ_CTL_DIST_PORT_MAX": "0",
            "RABBITMQ_MNESIA_BASE": f"{folder}/mnesia",
            "RABBITMQ_LOG_BASE": f"{folder}/log",
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_PID_FILE": f"{folder}/pid",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/enabled_plugins",
            # None of these exist: what the machine has under /etc/rabbitmq is not ours.
            "RABBITMQ_CONF_ENV_FILE": f"{folder}/rabbitmq-env.conf",
            "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq",
            "RABBITMQ_ADVANCED_CONFIG_FILE": f"{folder}/advanced",
        }

    def _spawn(self, name: str, *command: str) -> None:
        """Start a process as the leader of its own group, so that a Ctrl-C leaves its end to us."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                command,
                env=self._environment(),
                cwd=self.folder,
                stdin=subprocess.PIPE if name == "guard" else subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._tell_guard()

    def _gone(self, name: str, limit: float) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._processes[name].wait(limit)
            return True
        return False

    def _bury(self, name: str) -> None:
        process = self._processes.pop(name)
        self._tell_guard()
        _send_kill(os.killpg, process.pid)
        process.wait()
        if process.stdin is not None:
            process.stdin.close()

    def _tell_guard(self) -> None:
        groups = (str(p.pid) for name, p in self._processes.items() if name != "guard")
        (self.folder / "groups").write_text("\n".join(groups))

    def _await(self, name: str, ready: Callable[[], bool]) -> None:
        if not _becomes_true(lambda: ready() or self._gone(name, 0)) or self._gone(name, 0):
            log = (self.folder / f"{name}.log").read_text(errors="replace")[-4000:]
            self._bury(name)
            raise RuntimeError(f"the {name} of RabbitMQ did not start; its log ends:\n{log}")


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker to talk to. Without `node` it cannot be stopped, killed or looked into."""

    url: str
    close: Callable[[], None]
    node: RabbitNode | None = None


def get_broker() -> Broker:
    """A running broker; the caller closes it."""
    url = os.environ.get("BPC_TEST_AMQP_URL")
    if url:
        return Broker(url, close=lambda: None)
    tried = ["BPC_TEST_AMQP_URL is not set"]
    try:
        if find_scripts() is None:
            return compose_broker()
    except BrokerUnavailable as error:
        tried.append(str(error))
    try:
        node = get_node()
    except BrokerUnavailable as error:
        raise BrokerUnavailable("; ".join([*tried, str(error)])) from error
    return Broker(node.url, close=node.close, node=node)


def get_node() -> RabbitNode:
    """A running private node; the caller closes it."""
    node = RabbitNode(find_scripts() or install())
    try:
        node.start()
    except BaseException:
        node.close()
        raise
    return node


def or_skip(get: Callable[[], T]) -> T:
    """What `get` gives. Where it cannot be had, the test is skipped; on CI it fails."""
    import pytest

    try:
        return get()
    except Unavailable as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


def find_scripts() -> Path | None:
    """The folder with the broker's own scripts.

    Debian's command on the PATH is a wrapper that only root and its own account may use, and that
    changes the account; the scripts it calls have no such wishes.
    """
    on_path = shutil.which("rabbitmq-server")
    folders = [Path("/usr/lib/rabbitmq/bin"), *sorted(Path("/opt").glob("rabbitmq*/sbin"))]
    if on_path is not None:
        folders.append(Path(on_path).parent)
    return next((folder for folder in folders if (folder / "rabbitmq-server").exists()), None)


def docker_answers() -> bool:
    if shutil.which("docker") is None:
        return False
    return _run(["docker", "version", "--format", "{{.Server.Version}}"], limit=20).returncode == 0


def compose_broker() -> Broker:
    """The compose service. One that was up before stays up."""
    if not docker_answers():
        raise BrokerUnavailable("no docker engine answers")
    with contextlib.ExitStack() as stack:
        if "rabbitmq" not in _compose("ps", "--services", "--status", "running").split():
            stack.callback(_compose, "rm", "--stop", "--force", "rabbitmq")
            _compose("up", "--detach", "--wait", "rabbitmq")
        port = int(_compose("port", "rabbitmq", "5672").rpartition(":")[2])
        service = json.loads(_compose("config", "--format", "json"))["services"]["rabbitmq"]
        settings = service.get("environment") or {}
        user = settings.get("RABBITMQ_DEFAULT_USER", "guest")
        password = settings.get("RABBITMQ_DEFAULT_PASS", "guest")
        if not _becomes_true(lambda: speaks_amqp(port)):
            raise BrokerUnavailable(f"the compose service does not speak AMQP on port {port}")
        return Broker(f"amqp://{user}:{password}@127.0.0.1:{port}/", stack.pop_all().close)


def install() -> Path:
    """Debian's package, for the tests alone."""
    try:
        log = install_package("rabbitmq-server", "rabbitmq-server.service", "epmd.service", "epmd.socket")
    except Unavailable as error:
        raise BrokerUnavailable(str(error)) from error
    scripts = find_scripts()
    if scripts is None:
        raise BrokerUnavailable(f"rabbitmq-server could not be installed:\n{log[-4000:]}")
    return scripts


def install_package(package: str, *services: str) -> str:
    """Install a package of Debian; none of its services runs, now or after a boot. What apt said."""
    if os.geteuid() != 0 or not Path("/etc/debian_version").exists():
        raise Unavailable(f"{package} is not installed, and only root on Debian can install it from here")
    apt = ["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300"]
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    steps = [
        [*apt, "update"],
        [*apt, "install", "--no-install-recommends", package],
        ["systemctl", "disable", *services],
    ]
    log = ""
    with nothing_starts():
        for step in steps:
            if shutil.which(step[0]) is not None:
                done = _run(step, limit=1200, env=quiet)
                log += f"{' '.join(step)}\n{done.stdout}{done.stderr}"
    return log


@contextlib.contextmanager
def nothing_starts(policy: Path = POLICY_FILE) -> Iterator[None]:
    """While this lasts, packages that are installed start no service.

    A policy that the machine already has is left alone; one that lets services start stops us.
    """
    with _locked(policy.parent):
        with contextlib.suppress(FileExistsError), policy.open("x") as file:
            file.write(POLICY)
            policy.chmod(0o755)
        try:
            if _run([str(policy), "rabbitmq-server", "start"]).returncode != START_FORBIDDEN:
                raise BrokerUnavailable(f"{policy} would let the package start a system broker")
            yield
        finally:
            if policy.read_bytes() == POLICY.encode():
                policy.unlink()


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def speaks_amqp(port: int) -> bool:
    """Greet a broker as a client does, and see whether it answers with Connection.Start."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(b"AMQP\x00\x00\x09\x01")
            frame = connection.recv(11, socket.MSG_WAITALL)
    except OSError:
        return False
    method_on_channel_0, class_10_method_10 = frame[:3], frame[7:]
    return method_on_channel_0 == b"\x01\x00\x00" and class_10_method_10 == b"\x00\x0a\x00\x0a"


def _free_ports(count: int) -> list[int]:
    """Ports below those the system lends to clients: one that calls a dead broker for long could
    be lent that very port, and would be connected with itself.
    """
    with contextlib.ExitStack() as held:
        ports: list[int] = []
        while len(ports) < count:
            candidate = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                candidate.bind(("127.0.0.1", 15_000 + secrets.randbelow(15_000)))
                ports.append(candidate.getsockname()[1])
        return ports


def _answers(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def _becomes_true(fact: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + START_LIMIT
    while not (happened := fact()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return happened


def _send_kill(kill: Callable[[int, int], None], pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        kill(pid, signal.SIGKILL)


def _compose(*args: str) -> str:
    done = _run(["docker", "compose", "--file", str(COMPOSE_FILE), *args], limit=300)
    if done.returncode != 0:
        raise BrokerUnavailable(f"docker compose {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout.strip()


def _run(
    command: list[str], *, limit: float = 60, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -1, "", f"no end within {limit} s")


def main(arguments: list[str]) -> None:
    if arguments != ["install"]:
        sys.exit("usage: python -m tests.support.rabbitmq install")
    try:
        if os.environ.get("BPC_TEST_AMQP_URL"):
            print("RabbitMQ: the server in BPC_TEST_AMQP_URL")
        elif find_scripts() is None and docker_answers():
            print("RabbitMQ: docker compose")
        else:
            print(f"RabbitMQ: a private node of {find_scripts() or install()}")
    except BrokerUnavailable as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
