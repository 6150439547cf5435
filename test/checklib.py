##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##
"""Shared by the check programs: counting, running commands, and the closing line."""

import subprocess
import sys
import traceback


class Checks:
    """Counts checks; each prints a line, a failed one also the output."""

    def __init__(self, title):
        self.title = title
        self.passed = 0
        self.failed = 0
        print(f"== {title}", flush=True)

    def that(self, condition, name, seen=""):
        if condition:
            self.passed += 1
            print(f"ok      {name}", flush=True)
        else:
            self.failed += 1
            print(f"FAILED  {name}", flush=True)
            for line in str(seen).splitlines()[-15:]:
                print(f"        | {line}", flush=True)
        return bool(condition)

    def run_all(self, functions, *args):
        """Calls each function with self and args; one that raises is a failed check."""
        for function in functions:
            try:
                function(self, *args)
            except Exception:
                self.that(False, f"{function.__name__} ran to its end", traceback.format_exc())

    def close(self):
        """Prints the closing line; returns the program's exit status."""
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed or not self.passed else 0


def run(*command, limit=600, **options):
    """Runs a command to its end. Returns (exit status, standard output and error together)."""
    options.setdefault("stdin", subprocess.DEVNULL)
    try:
        done = subprocess.run(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=limit,
            **options,
        )
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as e:
        seen = e.stdout or ""
        return 124, (seen if isinstance(seen, str) else seen.decode(errors="replace")) + "\n(took too long)"
    except OSError as e:
        return 127, str(e)


def first_failure(*runs):
    """Of several (status, output): the first that failed, else the last."""
    for status, seen in runs:
        if status != 0:
            return status, seen
    return runs[-1]


if __name__ == "__main__":
    sys.exit("checklib.py is used by the programs beside it")
