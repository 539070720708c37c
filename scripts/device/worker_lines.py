"""One request to a worker's process and the line that it answers: what the scripts here share of the worker protocol."""

import json
import threading


def exchange(process, request, limit_s):
    """The reply, or None from a worker that died, or was silent for so long that it was killed."""
    killer = threading.Timer(limit_s, process.kill)
    killer.start()
    try:
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except OSError:
        line = ""
    finally:
        killer.cancel()
    return json.loads(line) if line else None
