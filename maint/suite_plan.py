##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##
"""Which tests of MPICH's suite run: reads upstream's lists, folder by folder, and selects.

Knows the form of a test list (the head comment of upstream's runtests describes it) and nothing of
building, running or judging. A test is named by what is executed, so that a name means the same
command in every run: folder/program, number of processes, arguments, environment settings.
"""

import os
import re
import zlib

DEFAULT_LISTS = ("testlist", "testlist.dtp", "testlist.cvar")
DEFAULT_NP = 2
OWN_LISTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../test/mpi")
# Folders whose programs do not print "No Errors": their exit status counts (judge-by-status).
BY_STATUS = ("basic",)

# The generated lists run a few programs with many types, counts, seeds or algorithms. Of the lines of
# each such program, every Nth is run, from the first; 1: all. Five and seven are coprime to the
# periods of the lists (2 types, 6 or 4 counts, 2 relations of send to receive count; 2 to 4 radices
# of an algorithm), so every value of each still occurs.
SHARES = {"testlist.dtp": 7, "testlist.cvar": 5}


class PlanError(Exception):
    """A list that cannot be read as runtests would read it."""


class Test:
    """One line of a list: what runtests will execute, and what it will print as the result."""

    def __init__(self, folder, line, max_np):
        fields = line.split()
        self.folder = folder
        self.line = line
        self.program = fields[0]
        self.asked_np = int(fields[1]) if len(fields) > 1 else DEFAULT_NP
        self.np = min(self.asked_np, max_np) if max_np else self.asked_np
        settings = [field.split("=", 1) for field in fields[2:] if "=" in field]
        self.args = [value for name, value in settings if name == "arg"]
        self.env = [value for name, value in settings if name == "env"]
        self.limit = next((int(value) for name, value in settings
                           if name == "timeLimit" and value.isdigit()), None)

    @property
    def key(self):
        """The name used in the expected-failures file and in reports."""
        return " ".join([f"{self.folder}/{self.program}", str(self.np)] + self.args + self.env)

    @property
    def printed(self):
        """(folder, program, processes) as the result file states it."""
        return (self.folder, self.program.rsplit("/", 1)[-1], self.np)


class Unit:
    """One list of one folder: what one runtests process works through."""

    def __init__(self, folder, list_name, tests):
        self.folder = folder
        self.list_name = list_name
        self.tests = tests

    @property
    def name(self):
        suffix = self.list_name.partition(".")[2]
        return f"{self.folder} ({suffix})" if suffix else self.folder

    @property
    def weight(self):
        """Roughly the seconds it takes; decides only which units start first."""
        return len(self.tests)

    @property
    def file_stem(self):
        return self.folder.replace("/", "_") + self.list_name[len("testlist"):]


def read_list(path):
    """Yield the meaningful lines of a test list."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            line = line.split("#", 1)[0].strip()
            if line:
                yield line


def find_list(build, srcdir, folder, name):
    """The list of a folder: the configured one, else the source's, both as runtests would read it.

    Else this tree's, for the folder that upstream builds but has no list for.
    """
    for root in (build, srcdir, OWN_LISTS):
        path = os.path.join(root, folder, name)
        if os.path.isfile(path) and os.path.getsize(path) > 0:
            return path
    return None


def read_folder(build, srcdir, folder, lists, max_np):
    """Return the Units of a folder and of the folders its list names, in list order."""
    if not os.path.isdir(os.path.join(build, folder)):
        raise PlanError(f"{folder}: no such folder in {build}; is the suite configured for it?")
    units, subfolders = [], []
    for name in lists:
        path = find_list(build, srcdir, folder, name)
        if path is None:
            if name == "testlist":
                raise PlanError(f"{folder}: no {name}")
            continue
        tests = []
        for line in read_list(path):
            if line.startswith("!"):
                raise PlanError(f"{path}: '{line}': build lines are not supported")
            if os.path.isdir(os.path.join(build, folder, line.split()[0])):
                subfolders.append(f"{folder}/{line.split()[0]}")
            else:
                tests.append(Test(folder, line, max_np))
        if tests:
            units.append(Unit(folder, name, tests))
    for subfolder in dict.fromkeys(subfolders):
        units += read_folder(build, srcdir, subfolder, lists, max_np)
    return units


def drop_repeats(unit, seen):
    """Remove tests whose command another line of the plan runs too; return how many went.

    Limiting the number of processes makes lines equal: "darray_pack 9" and "darray_pack 72".
    """
    kept = []
    for test in unit.tests:
        if test.key not in seen:
            seen.add(test.key)
            kept.append(test)
    dropped = len(unit.tests) - len(kept)
    unit.tests = kept
    return dropped


def thin(unit, every):
    """Keep of each program of a generated list one line in `every`; return the others.

    Counted for each program on its own and from its first line, so that every program runs.
    """
    position, kept, left = {}, [], []
    for test in unit.tests:
        index = position.get(test.program, 0)
        position[test.program] = index + 1
        (kept if index % every == 0 else left).append(test)
    unit.tests = kept
    return left


def make_plan(build, srcdir, folders, lists, max_np, every):
    """Read the lists of the folders and select.

    every: of each program of a generated list one line in this many runs; maps list name to number.
    Returns (units, repeats, left_out): what runs, how many lines repeated another's command, and
    what the selection left out as {(folder, list name): number of lines}.
    """
    units, seen, repeats, left_out = [], set(), 0, {}
    for folder in folders:
        units += read_folder(build, srcdir, folder.strip("/"), lists, max_np)
    for unit in units:
        repeats += drop_repeats(unit, seen)
        step = every.get(unit.list_name, 1)
        if step > 1:
            left = thin(unit, step)
            if left:
                left_out[(unit.folder, unit.list_name)] = len(left)
    return [unit for unit in units if unit.tests], repeats, left_out


def sample(units, one_in, seed):
    """Keep about one test in `one_in`, other ones for another seed; return the keys of the others."""
    left = []
    for unit in units:
        kept = [test for test in unit.tests if zlib.crc32(f"{seed} {test.key}".encode()) % one_in == 0]
        left += [test.key for test in unit.tests if test not in kept]
        unit.tests = kept
    return left


def leave_out(units, keys):
    """Drop the tests of these keys, each of which must be there; return the keys."""
    known = {test.key for unit in units for test in unit.tests}
    for key in keys:
        if key not in known:
            raise PlanError(f"--leave-out {key}: no such test in these lists")
    for unit in units:
        unit.tests = [test for test in unit.tests if test.key not in keys]
    return list(keys)


def program_folders(build, folder, programs):
    """Map the folder that make runs in to the targets wanted there."""
    wanted = {}
    for program in programs:
        head, _, name = program.rpartition("/")
        wanted.setdefault(os.path.normpath(os.path.join(build, folder, head)), set()).add(name)
    return wanted


def valid_key(text):
    """True if the text has the form of a test key."""
    return re.fullmatch(r"\S+/\S+ [0-9]+( \S+)*", text) is not None
