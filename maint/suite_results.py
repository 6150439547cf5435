##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##
"""Judges what upstream's runtests printed: against the plan, and against the expected failures.

Text in, verdicts out; starts no process. A test that is not known to have passed has failed. A test
without a result line, a result that is not in the plan, and a result file without its closing line
are failures.
"""

import fnmatch
import re

from suite_plan import valid_key

PASSED, FAILED, SKIPPED, MISSING = "passed", "failed", "skipped", "did not run"

# "not ok 12 - ./pt2pt/sendself 1 # TODO ticket # time=0.1"; the number may be absent, and so is the
# number of processes of a program that could not be built
RESULT = re.compile(r"^(?P<bad>not )?ok\s+\d*\s*-\s+(?:\./)?(?P<path>\S+)(?:\s+(?P<np>\d+))?"
                    r"(?P<rest>\s.*|)$")
CLOSING = re.compile(r"^1\.\.\d+\s*$")


class ExpectedError(Exception):
    """A malformed line of the expected-failures file."""


class Outcome:
    """The result of one test: its status, seconds, and its output if it failed."""

    def __init__(self, test, status, seconds=0.0, text=""):
        self.test = test
        self.status = status
        self.seconds = seconds
        self.text = text


class Result:
    """One result line and the comment lines that follow it."""

    def __init__(self, match):
        folder, _, program = match["path"].rpartition("/")
        self.printed = (folder, program, int(match["np"]) if match["np"] else None)
        self.lines = []
        seconds = re.search(r"# time=([0-9.]+)", match["rest"])
        self.seconds = float(seconds[1]) if seconds else 0.0
        if match["bad"]:
            self.status = FAILED
        elif re.search(r"#\s*SKIP\b", match["rest"]):
            self.status = SKIPPED
            self.lines.append(match["rest"].split("SKIP", 1)[1].strip())
        else:
            self.status = PASSED

    def is_of(self, test):
        """True if this can be the result of the test; only a failure may lack its processes."""
        if self.printed[2] is None:
            return self.status == FAILED and self.printed[:2] == test.printed[:2]
        return self.printed == test.printed


def parse(text):
    """Return (results, closed): the result lines in order, and whether the file is complete."""
    results, closed = [], False
    for line in text.splitlines():
        match = RESULT.match(line)
        if match:
            results.append(Result(match))
            closed = False
        elif CLOSING.match(line):
            closed = True
        elif results and line.startswith("##"):
            results[-1].lines.append(line[2:].strip())
    return results, closed


def judge(unit, text):
    """Match the result file of a unit to its tests. Return (outcomes, complaints).

    Result lines come in list order, one a test. After the first that names another test than the
    plan does, nothing that follows can be attributed, so the rest counts as not run.
    """
    results, closed = parse(text)
    outcomes, complaints = [], []
    for test, result in zip(unit.tests, results):
        if not result.is_of(test):
            complaints.append(f"{unit.name}: result of {'/'.join(map(str, result.printed))}"
                              f" where {test.key} was due")
            break
        outcomes.append(Outcome(test, result.status, result.seconds, "\n".join(result.lines)))
    for test in unit.tests[len(outcomes):]:
        outcomes.append(Outcome(test, MISSING))
    if len(results) > len(unit.tests):
        complaints.append(f"{unit.name}: {len(results)} results for {len(unit.tests)} tests")
    if not closed:
        complaints.append(f"{unit.name}: the result file is cut short")
    return outcomes, complaints


class Expected:
    """One line of the expected-failures file: DEVICES [flaky] FOLDER/PROGRAM NP [ARG...] # REASON"""

    def __init__(self, line, where):
        entry, _, self.reason = (part.strip() for part in line.partition("#"))
        self.where = where
        devices, _, key = entry.partition(" ")
        key = " ".join(key.split())
        self.flaky = key.startswith("flaky ")
        self.key = key[len("flaky "):] if self.flaky else key
        self.devices = devices.split(",")
        if not self.reason or not valid_key(self.key) or not devices.startswith("ch3"):
            raise ExpectedError(f"{where}: not of the form 'DEVICES [flaky] FOLDER/PROGRAM NP [ARG...]"
                                " # REASON'")

    def applies(self, device):
        return any(fnmatch.fnmatchcase(device, pattern) for pattern in self.devices)


def read_expected(path, device):
    """Return {key: Expected} of the lines that hold for the device."""
    expected = {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            entry = Expected(line.strip(), f"{path}:{number}")
            if not entry.applies(device):
                continue
            if entry.key in expected:
                raise ExpectedError(f"{entry.where}: {entry.key} is listed twice")
            expected[entry.key] = entry
    return expected


class Verdict:
    """All outcomes by verdict; ok only if nothing unexpected happened.

    whole: the plan holds all lists of its folders, so a listed program that it lacks does not exist.
    """

    def __init__(self, outcomes, complaints, expected, whole=True):
        self.complaints = list(complaints)
        self.expected = expected
        self.passed, self.skipped = [], []
        self.as_listed, self.flaky = [], []
        self.unexpected, self.listed_but_passed = [], []
        for outcome in outcomes:
            self._sort(outcome)
        self.absent = self._absent(outcomes, whole)

    def _sort(self, outcome):
        entry = self.expected.get(outcome.test.key)
        if outcome.status == SKIPPED:
            self.skipped.append(outcome)
        elif outcome.status == PASSED:
            listed = entry is not None and not entry.flaky
            (self.listed_but_passed if listed else self.passed).append(outcome)
        elif outcome.status == FAILED and entry is not None:
            (self.flaky if entry.flaky else self.as_listed).append(outcome)
        else:
            self.unexpected.append(outcome)

    def _absent(self, outcomes, whole):
        """Listed tests that are not in the plan although their folder is.

        Another limit of processes, or a selection, may leave them out. A program that the plan does
        not have at all is a mistake in the list: upstream has renamed or removed it.
        """
        keys = {outcome.test.key for outcome in outcomes}
        folders = {outcome.test.folder for outcome in outcomes}
        programs = {outcome.test.key.split(" ", 1)[0] for outcome in outcomes}
        absent = []
        for key, entry in self.expected.items():
            program = key.split(" ", 1)[0]
            if key in keys or program.rpartition("/")[0] not in folders:
                continue
            absent.append(entry)
            if whole and program not in programs:
                self.complaints.append(f"{entry.where}: {program} is not in the lists of its folder")
        return absent

    @property
    def failed(self):
        return len(self.unexpected) + len(self.listed_but_passed) + len(self.complaints)

    @property
    def ok(self):
        """An empty run is not a success."""
        return self.failed == 0 and bool(self.passed)
