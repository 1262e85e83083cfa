"""nginx and Caddy with the files of `deploy/`, on free ports and with a certificate of the tests."""

import http.client
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.certificates import Authority
from tests.support.database import free_port
from tests.support.rabbitmq import Unavailable, install_package
from tests.support.serving import Answer
from tests.support.worker import until

DEPLOY = Path(__file__).parents[2] / "deploy"


def program(name: str) -> str:
    """Where it is; as root on Debian it is installed when it is missing."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if found is None:
        log = install_package(name, f"{name}.service")
        found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
        if found is None:
            raise Unavailable(f"{name} could not be installed:\n{log[-4000:]}")
    return found


@dataclass(frozen=True)
class Terminator:
    host: str
    port: int
    ca_file: Path

    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.ca_file)

    def ask(self, path: str, accept: str = "text/html", **headers: str) -> Answer:
        connection = http.client.HTTPSConnection(self.host, self.port, timeout=20, context=self._context())
        connection._create_connection = lambda *_: socket.create_connection(("127.0.0.1", self.port), 20)  # type: ignore[attr-defined]
        try:
            sent = {"Accept": accept, "Host": self.host} | headers
            connection.request("GET", path, headers=sent)
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, names, answer.read())
        finally:
            connection.close()

    def speaks(self) -> str | None:
        """Of HTTP/2 and HTTP/1.1 the one that it chooses."""
        context = self._context()
        context.set_alpn_protocols(["h2", "http/1.1"])
        with (
            socket.create_connection(("127.0.0.1", self.port), 20) as raw,
            context.wrap_socket(raw, server_hostname=self.host) as wrapped,
        ):
            return wrapped.selected_alpn_protocol()


@contextmanager
def nginx(folder: Path, host: str, door: int) -> Iterator[Terminator]:
    port, plain = free_port(), free_port()
    authority = Authority(folder)
    chain = authority.chain(host)
    (folder / "cache").mkdir(mode=0o777)
    text = _changed(
        DEPLOY / "nginx.conf",
        ("/run/nginx.pid", str(folder / "nginx.pid")),
        ("/var/cache/nginx/bpc", str(folder / "cache")),
        ("127.0.0.1:8081", f"127.0.0.1:{door}"),
        ("listen 80", f"listen 127.0.0.1:{plain}"),
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("id.example.com", host),
        ("/etc/nginx/tls/fullchain.pem", str(chain)),
        ("/etc/nginx/tls/privkey.pem", str(chain)),
    )
    (folder / "nginx.conf").write_text(f"daemon off;\nuser root;\nerror_log stderr;\n{text}")
    command = [program("nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"]
    with _running(command, folder, port):
        yield Terminator(host, port, authority.ca_file)


@contextmanager
def caddy(folder: Path, host: str, door: int) -> Iterator[Terminator]:
    port = free_port()
    authority = Authority(folder)
    chain = authority.chain(host)
    text = _changed(
        DEPLOY / "Caddyfile",
        ("\tadmin off\n", f"\tadmin off\n\tauto_https off\n\tstorage file_system {folder}\n"),
        ("id.example.com {\n", f"https://{host}:{port} {{\n\tbind 127.0.0.1\n\ttls {chain} {chain}\n"),
        ("api.example.com {\n", f"http://api.example.com:{free_port()} {{\n\tbind 127.0.0.1\n"),
        ("127.0.0.1:8081", f"127.0.0.1:{door}"),
    )
    (folder / "Caddyfile").write_text(text)
    command = [program("caddy"), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    with _running(command, folder, port):
        yield Terminator(host, port, authority.ca_file)


def _changed(file: Path, *changes: tuple[str, str]) -> str:
    text = file.read_text()
    for old, new in changes:
        assert old in text, f"{file.name} has no {old!r} any more"
        text = text.replace(old, new)
    return text


@contextmanager
def _running(command: Sequence[str], folder: Path, port: int) -> Iterator[None]:
    log = folder / "terminator.log"
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env={"HOME": str(folder)})

        def answers() -> bool:
            assert process.poll() is None, log.read_text()
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
            except OSError:
                return False
            return True

        try:
            until(answers, within=30, what=f"{command[0]} at {port}")
            yield
        finally:
            process.terminate()
            process.wait(timeout=20)
