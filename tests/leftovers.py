"""What loaders and readers left running in this process."""

import threading
import time

import psutil


def left(patience=2.0):
    """Threads and processes of loaders and readers that still run after a moment."""
    end = time.monotonic() + patience
    while (found := _running()) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def _running():
    names = ("dygraph-loader", "dygraph-reader")
    found = [t for t in threading.enumerate() if t.name.startswith(names)]
    for child in psutil.Process().children():
        # Python keeps one such process once anything was started by spawn.
        if "resource_tracker" not in " ".join(child.cmdline()):
            found.append(child)
    return found
