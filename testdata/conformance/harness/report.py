"""Counts checks and prints a line for each."""

import sys
import threading
import time


class Failed(Exception):
    """A check that did not hold; the text says why."""


def expect(what, got, want):
    """Fails unless got == want."""
    if got != want:
        raise Failed(f"{what}: got {short(got)}, want {short(want)}")


def short(value):
    """A value's text, cut to what fits a line."""
    text = repr(value)
    return text if len(text) <= 300 else text[:300] + "…"


class Report:
    """Runs checks by name, also from several threads; `only` holds parts of names, none for all."""

    def __init__(self, only):
        self.only = only
        self.passed = 0
        self.failed = 0
        self.lock = threading.Lock()

    def wants(self, name):
        """Whether a check of that name is to be run."""
        return not self.only or any(o in name for o in self.only)

    def check(self, name, run):
        """Runs one check. Returns what it returned, None if it failed."""
        if not self.wants(name):
            return None
        start = time.monotonic()
        try:
            result = run()
        except Exception as e:  # noqa: BLE001 - whatever goes wrong is this check's failure
            reason = str(e) if isinstance(e, Failed) else f"{type(e).__name__}: {e}"
            with self.lock:
                self.failed += 1
                print(f"FAIL {name}: " + reason.replace("\n", " "))
                sys.stdout.flush()
            return None
        with self.lock:
            self.passed += 1
            print(f"ok   {name} ({time.monotonic() - start:.1f}s)")
            sys.stdout.flush()
        return result

    def end(self):
        """Prints the counts; the exit code."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0
