"""Workers that start in a moment: a server imports the frameworks once and forks a process for each worker.

    python3 -m hillclimb_worker.fork_server SOCKET [--import NAME ...]

A worker started with HILLCLIMB_FORK_SERVER=SOCKET hands its arguments, environment, folder and standard streams over and waits;
the server forks, and the fork serves. The fork is a process of its own with a context of its own on the device: the server has
imported modules and nothing else. A module whose import touches the CUDA driver is left out, since a fork could not use the
driver then. The fork ends when the worker that asked for it ends, and the other way round.
"""

import argparse
import array
import ctypes
import importlib
import json
import os
import signal
import socket
import sys
import threading
import time
import traceback

USUAL = ("torch", "triton", "torch._dynamo", "torch._inductor.compile_fx")
NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED
HEADER = 8


def driver_is_untouched():
    """Whether this process has not initialised the CUDA driver; true without one."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return True
    return library.cuDeviceGetCount(ctypes.byref(ctypes.c_int())) == NOT_INITIALIZED


def leaves_the_driver_alone(name):
    """Imports a module in a fork and looks."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            importlib.import_module(name)
            status = 0 if driver_is_untouched() and threading.active_count() == 1 else 2
        except BaseException:
            traceback.print_exc()
        os._exit(status)
    return os.waitpid(child, 0)[1] == 0


def prepare(names):
    """Imports what can be imported; the names that were."""
    done = []
    for name in names:
        began = time.monotonic()
        if leaves_the_driver_alone(name):
            importlib.import_module(name)
            done.append(name)
            print(f"fork server: imported {name} in {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
        else:
            print(f"fork server: {name} is left out", file=sys.stderr, flush=True)
    return done


def read_exactly(connection, size):
    """So many bytes, or less at the end of the stream."""
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            break
        data += more
    return data


def serve(connection, imported):
    """In the fork: takes the asker's place and serves until its end."""
    descriptors = array.array("i")
    head, ancillary, _, _ = connection.recvmsg(HEADER, socket.CMSG_SPACE(3 * descriptors.itemsize))
    for _, _, data in ancillary:
        descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    request = json.loads(read_exactly(connection, int.from_bytes(head, "little")))
    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    os.environ.pop("HILLCLIMB_FORK_SERVER", None)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0, "r"), os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)

    def follow():
        connection.recv(1)  # the asker is gone
        os._exit(1)

    from . import __main__ as worker

    worker.IMPORTED.append(", ".join(imported))
    threading.Thread(target=follow, daemon=True).start()
    return worker.main(request["arguments"])


def listen(path, imported):
    """Forks for whoever asks, until SIGTERM."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        if os.path.exists(path):
            os.unlink(path)
        door.bind(path)
        door.listen(16)
        print("fork server: ready", file=sys.stderr, flush=True)
        while True:
            connection, _ = door.accept()
            if os.fork() == 0:
                door.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                status = 70
                try:
                    status = serve(connection, imported)
                except BaseException:
                    traceback.print_exc()
                try:
                    sys.stdout.flush()
                    connection.sendall(bytes([status & 255]))
                except OSError:
                    pass
                os._exit(status)
            connection.close()


def ask(path, arguments):
    """The asker's side: hands everything over and returns the fork's status."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        request = {"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()}
        text = json.dumps(request).encode()
        streams = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
        connection.sendmsg([len(text).to_bytes(HEADER, "little")], streams)
        connection.sendall(text)
        for descriptor in (0, 1):
            os.close(descriptor)  # only the fork reads and answers now
        status = connection.recv(1)
        connection.recv(1)  # its end: what it held on the device is given back by then
        return status[0] if status else 1


def main():
    """Imports, then serves."""
    parser = argparse.ArgumentParser(prog="hillclimb_worker.fork_server", description=__doc__)
    parser.add_argument("socket")
    parser.add_argument("--import", dest="names", nargs="*", default=list(USUAL))
    options = parser.parse_args()
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    listen(options.socket, prepare(options.names))


if __name__ == "__main__":
    main()
