"""The filter as a program: what each call comes to, on both machines, as the kernel would run it."""

import errno
import platform
import struct
from types import SimpleNamespace

import pytest

from bpc_worker.processes import seccomp
from bpc_worker.processes.seccomp import Instruction

ALLOWED, REFUSED, KILLED = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386 = 0x40000003
CALLS = {
    "x86_64": {"read": 0, "socket": 41, "connect": 42, "socketpair": 53, "ptrace": 101, "openat": 257,
               "process_vm_readv": 310, "process_vm_writev": 311, "io_uring_setup": 425, "pidfd_getfd": 438},
    "aarch64": {"read": 63, "socket": 198, "connect": 203, "socketpair": 199, "ptrace": 117, "openat": 56,
                "process_vm_readv": 270, "process_vm_writev": 271, "io_uring_setup": 425, "pidfd_getfd": 438},
}  # fmt: skip
MACHINES = pytest.mark.parametrize("machine", sorted(AUDIT))


def verdict(program: list[Instruction], audit: int, number: int, *arguments: int) -> int:
    """A classic BPF machine, as far as a filter needs one."""
    data = struct.pack("<IIQ6Q", number, audit, 0, *arguments, *[0] * (6 - len(arguments)))
    value = at = 0
    while True:
        code, if_true, if_not, operand = program[at]
        match code:
            case 0x20:
                (value,) = struct.unpack_from("<I", data, operand)
            case 0x54:
                value &= operand
            case 0x15 | 0x35:
                at += if_true if (value == operand if code == 0x15 else value >= operand) else if_not
            case 0x06:
                return operand
        at += 1


@MACHINES
@pytest.mark.parametrize("network", [False, True])
def test_what_is_refused_and_nothing_else(machine: str, network: bool) -> None:  # noqa: FBT001 - parametrised
    program = seccomp.instructions(machine, network=network)
    refused = {
        name for name, number in CALLS[machine].items() if verdict(program, AUDIT[machine], number) == REFUSED
    }

    memory = {"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"}
    sockets = {"socket", "socketpair", "io_uring_setup"}
    assert refused == (memory if network else memory | sockets)
    assert verdict(program, AUDIT[machine], CALLS[machine]["read"]) == ALLOWED


@MACHINES
def test_a_pair_of_streams_is_allowed_and_one_of_datagrams_is_not(machine: str) -> None:
    program = seccomp.instructions(machine, network=False)
    number, flags = CALLS[machine]["socketpair"], 0o2004000  # SOCK_CLOEXEC, SOCK_NONBLOCK

    ends = [verdict(program, AUDIT[machine], number, 1, kind | flags) for kind in (1, 2, 3, 5)]
    assert ends == [ALLOWED, REFUSED, REFUSED, REFUSED]


@MACHINES
def test_calls_by_another_door_do_not_get_around_it(machine: str) -> None:
    program = seccomp.instructions(machine, network=True)

    assert verdict(program, I386, CALLS[machine]["read"]) == KILLED
    assert verdict(program, AUDIT["x86_64"], 0x40000000 | 41) == (REFUSED if machine == "x86_64" else KILLED)


def test_every_jump_stays_inside() -> None:
    for machine in AUDIT:
        program = seccomp.instructions(machine, network=False)
        for at, (code, if_true, if_not, _) in enumerate(program):
            assert code not in {0x15, 0x35} or at + 1 + max(if_true, if_not) < len(program)
        assert len(seccomp.assembled(program)) == 8 * len(program)


def test_where_there_is_no_filter_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    if platform.machine() in AUDIT:
        assert seccomp.why_not() is None
    monkeypatch.setattr("os.uname", lambda: SimpleNamespace(machine="riscv64"))

    assert seccomp.why_not() == "there is no filter for riscv64, only for x86_64 and aarch64"
    seccomp.install(network=False)  # goes without
