"""Two hosts on one machine: network namespaces joined by a wire that is slow or breaks. Run by `unshare -Urnmpf --mount-proc`.

hosts.py FOLDER DELAY -- COMMAND: starts COMMAND by mpirun, one rank on each host. Each frame takes DELAY seconds each way. When the
file FOLDER/cut appears the wire is cut, in silence: nobody is told. FOLDER/wire gets the bytes that went over it, FOLDER/gone after a
cut when the last rank had ended. Namespaces, wire and processes are gone with this one. (netem would do it, but many kernels lack it.)
"""

import ctypes
import fcntl
import json
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

HOSTS = {"h0": "10.87.0.1", "h1": "10.87.0.2"}
MTU = 9000


def sh(command):
    subprocess.run(command, shell=True, check=True)


def without_offloads(device):
    """Frames as they would be on a cable: whole checksums, none larger than the MTU."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for setting in (0x17, 0x1F, 0x24, 0x2C):  # ETHTOOL_STXCSUM, _STSO, _SGSO, _SGRO: off
            held = ctypes.create_string_buffer(struct.pack("II", setting, 0), 8)
            fcntl.ioctl(s, 0x8946, struct.pack("16sP", device.encode(), ctypes.addressof(held)).ljust(40, b"\0"))  # SIOCETHTOOL


def make_hosts():
    sh("mount -t tmpfs none /run && ip link set lo up")
    for i, (name, address) in enumerate(HOSTS.items()):
        sh(f"ip netns add {name} && ip link add wire{i} mtu {MTU} type veth peer name eth0 mtu {MTU} netns {name}")
        sh(f"ip -n {name} addr add {address}/24 dev eth0 && ip -n {name} link set lo up && ip -n {name} link set eth0 up")
        sh(f"ip link set wire{i} up")
        without_offloads(f"wire{i}")
        code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import hosts; hosts.without_offloads('eth0')"
        subprocess.run(["nsenter", f"--net=/run/netns/{name}", sys.executable, "-c", code], check=True)
    Path("/run/hosts").write_text("127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for n, a in HOSTS.items()))
    sh("mount --bind /run/hosts /etc/hosts")


class Wire(threading.Thread):
    """Takes frames from either end to the other, a while later."""

    def __init__(self, folder, delay):
        super().__init__(daemon=True)
        self.folder, self.delay, self.bytes = folder, delay, 0
        self.ends = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in HOSTS]
        for i, end in enumerate(self.ends):
            end.bind((f"wire{i}", 3))

    def run(self):
        under_way, cut, looked = deque(), False, 0.0
        while True:
            now = time.monotonic()
            if not cut and now - looked > 0.02:
                cut, looked = (self.folder / "cut").exists(), now
            while under_way and under_way[0][0] <= now:
                _, to, frame = under_way.popleft()
                self.ends[to].send(frame)
                self.bytes += len(frame)
            wait = min(0.05, max(under_way[0][0] - now, 0)) if under_way else 0.05
            for end in select.select(self.ends, [], [], wait)[0]:
                frame, where = end.recvfrom(65536)
                if where[2] != socket.PACKET_OUTGOING and not cut:
                    under_way.append((time.monotonic() + self.delay, 1 - self.ends.index(end), frame))


AGENT = """#!/bin/sh
# What mpirun takes for ssh: AGENT [-options] HOST COMMAND
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
exec nsenter --net=/run/netns/$host unshare -u sh -c "hostname $host; $*"
"""


def mpirun(command):
    agent = Path("/run/agent.sh")
    agent.write_text(AGENT)
    agent.chmod(0o755)
    sys.path[:0] = [str(Path(__file__).resolve().parents[3] / "python")]
    from headwater.cli.launch import find_mpirun

    run = [find_mpirun(), "-n", "2", "--host", "h0:1,h1:1", "--map-by", "node", "--bind-to", "none", "--allow-run-as-root",
           "--prtemca", "plm_ssh_agent", str(agent), "--prtemca", "prte_if_include", "eth0",
           *(a for name in ("UCX_TLS=tcp,self", "UCX_NET_DEVICES=eth0", "PATH", "PYTHONPATH", "HEADWATER_NUM_THREADS")
             for a in ("-x", name)), *command]  # fmt: skip
    words = " ".join(map(json.dumps, run))
    return ["nsenter", "--net=/run/netns/h0", "unshare", "-u", "sh", "-c", f"hostname h0; exec {words}"]


def ranks(command):
    """How many processes run the command itself; mpirun's have more before it."""
    mine = "\0".join(command).encode() + b"\0"
    found = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += path.read_bytes() == mine
        except OSError:
            pass  # it has just ended
    return found


def main():
    folder, delay, command = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[4:]
    make_hosts()
    wire = Wire(folder, delay)
    wire.start()
    Path("/run/tmp").mkdir()  # Open MPI's own files: a killed run of the same process number would leave them in our way
    launcher = subprocess.Popen(mpirun(command), env={**os.environ, "TMPDIR": "/run/tmp"})
    while launcher.poll() is None:
        time.sleep(0.02)
        if (folder / "cut").exists() and not ranks(command):  # mpirun itself may wait for ever for its daemon on the other host
            (folder / "gone").write_text(str(time.time()))
            launcher.kill()
    (folder / "wire").write_text(str(wire.bytes))
    sys.exit(launcher.returncode)


if __name__ == "__main__":
    main()
