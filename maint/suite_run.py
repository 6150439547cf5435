##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##
"""Configures, builds and runs MPICH's suite: everything of run-suite that starts processes.

Must not know which failures are expected. Every process that it starts has a mark in its environment,
inherited through mpiexec and spawned programs, and only processes with the mark are killed.
"""

import concurrent.futures
import glob
import os
import queue
import re
import signal
import subprocess
import threading
import time

from suite_plan import BY_STATUS, program_folders
from suite_results import FAILED, MISSING

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "MPITEST_RUN_MARK"
# Removed from the caller's environment: runtests' own switches, a parent make's job server and
# options, and mpiexec's limits.
UNWANTED = re.compile(r"^(V|VERBOSE|RUNTESTS_.*|MPITEST_.*|MAKEFLAGS|MFLAGS|MAKELEVEL|MPIEXEC_.*|"
                      r"HYDRA_.*|PMI_.*|DESTDIR)$")
# Seconds that mpiexec gets beyond a test's limit to end the test itself.
GRACE = 60


class SuiteError(Exception):
    """The suite cannot be configured, built or run; the message says where to look."""


def environment_of(pid):
    """The environment a process was started with; empty if it has gone or is not ours to see."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            text = file.read().decode(errors="replace")
    except OSError:
        return {}
    return dict(item.split("=", 1) for item in text.split("\0") if "=" in item)


def age_of(pid):
    """Seconds since a process started; 0 if it has gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            start = int(file.read().rpartition(")")[2].split()[19])
        with open("/proc/uptime", encoding="utf-8") as file:
            return float(file.read().split()[0]) - start / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass


def thread_level(prefix):
    """The level of threads that an installed MPI was configured for; multiple if it does not say."""
    levels = {"no": "single", "single": "single", "funneled": "funneled", "serialized": "serialized"}
    try:
        shown = subprocess.run([os.path.join(prefix, "bin/mpichversion"), "-configure"],
                               capture_output=True, text=True, errors="replace").stdout
    except OSError:
        shown = ""
    found = re.search(r"--enable-threads=(\w+)|--disable-threads", shown)
    return levels.get(found.group(1) or "no", "multiple") if found else "multiple"


def memory_gigabytes():
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**30


class Runner:
    """One run of the suite. args: as parsed by run-suite; say: prints a line of progress."""

    def __init__(self, args, say):
        self.args = args
        self.say = say
        self.mark = f"{os.getpid()}-{time.time_ns()}"
        self.stop_file = os.path.join(args.log, "stop")
        self.failure_logs = {}
        self.stopped = threading.Event()
        os.makedirs(os.path.join(args.log, "failed"), exist_ok=True)
        for path in [self.stop_file] + [entry.path for entry in
                                        os.scandir(os.path.join(args.log, "failed"))]:
            if os.path.exists(path):
                os.unlink(path)
        self.env = {name: value for name, value in os.environ.items() if not UNWANTED.match(name)}
        self.env.update(LC_ALL="C", MPITEST_TIMEOUT=str(args.test_limit),
                        MPITEST_STOPTEST=self.stop_file,
                        MPITEST_MEMORY_TOTAL=str(min(20, memory_gigabytes())),
                        MPITEST_MEMORY_MULTIPLIER=str(args.jobs))
        if args.jobs > 1:
            # a test shares its processors with tests of other folders, which MPI cannot know
            self.env["MPIR_CVAR_YIELD_SLEEP"] = "1"

    # configure ---------------------------------------------------------------------------------

    def configure(self):
        """Configure the suite in its build folder as MPICH's own configure would, for PREFIX."""
        args, tools = self.args, os.path.join(self.args.prefix, "bin")
        if not os.access(os.path.join(tools, "mpicc"), os.X_OK):
            raise SuiteError(f"{tools} has no mpicc; is the MPI installed there?")
        have = {name: os.path.exists(os.path.join(args.prefix, path)) for name, path in
                (("f90", "bin/mpifort"), ("f08", "include/mpi_f08.mod"), ("cxx", "bin/mpicxx"),
                 ("io", "include/mpio.h"))}
        fortran = "all" if have["f08"] else "f77,f90" if have["f90"] else "none"
        command = [os.path.join(args.source, "configure"), f"--prefix={args.prefix}",
                   f"--with-device={args.device}", f"--enable-fortran={fortran}",
                   "--without-cuda", "--disable-maintainer-mode", "--disable-option-checking"]
        command += [] if have["io"] else ["--disable-romio"]
        command += [] if have["cxx"] else ["--disable-cxx"]
        command += args.configure_option
        # The arguments that MPICH's configure passes to the suite's.
        settings = {"FROM_MPICH": "yes", "MPICH_THREAD_LEVEL": f"MPI_THREAD_{thread_level(args.prefix).upper()}",
                    "MPICH_ENABLE_FC": "yes" if have["f90"] else "no",
                    "MPICH_ENABLE_CXX": "yes" if have["cxx"] else "no",
                    "MPI_SIZEOF_AINT": "8", "MPI_SIZEOF_OFFSET": "8", "nameserv_name": "pmi",
                    "MPILIBNAME": "mpi", "CC": f"{tools}/mpicc", "CXX": f"{tools}/mpicxx",
                    "F77": f"{tools}/mpif77", "FC": f"{tools}/mpifort"}
        record = "\n".join(command + [f"{name}={value}" for name, value in settings.items()])
        if self._configured(record):
            return
        self.say(f"configuring the suite in {args.tests}")
        os.makedirs(args.tests, exist_ok=True)
        self._must("configure", command, args.tests, {**self.env, **settings})
        with open(self._record(), "w", encoding="utf-8") as file:
            file.write(record)

    def _record(self):
        return os.path.join(self.args.tests, ".run-suite")

    def _configured(self, record):
        """True if the last configure had the same arguments and is newer than what it reads: its source,
        and the lists of tests that it makes others of."""
        inputs = [os.path.join(self.args.source, "configure")]
        inputs += glob.glob(os.path.join(self.args.source, "**", "testlist*.in"), recursive=True)
        try:
            with open(self._record(), encoding="utf-8") as file:
                same = file.read() == record
            return same and os.path.getmtime(self._record()) > max(map(os.path.getmtime, inputs))
        except OSError:
            return False

    # build -------------------------------------------------------------------------------------

    def build(self, units):
        """Build the support libraries, then every program the units run, folders side by side.

        A program that does not build is left to runtests, which tries again and reports it.
        """
        start = time.monotonic()
        for folder in ("util", "dtpools"):
            self._must(f"build-{folder}", ["make", f"-j{self.args.jobs}"],
                       os.path.join(self.args.tests, folder), self.env)
        wanted = {}
        for unit in units:
            programs = [test.program for test in unit.tests]
            for folder, names in program_folders(self.args.tests, unit.folder, programs).items():
                wanted.setdefault(folder, set()).update(names)
        count = sum(len(names) for names in wanted.values())
        self.say(f"building {count} test programs")
        failed = []
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            tasks = {pool.submit(self._make, folder, sorted(names)): folder
                     for folder, names in sorted(wanted.items(), key=lambda item: -len(item[1]))}
            for task in concurrent.futures.as_completed(tasks):
                if task.result() != 0:
                    failed.append(os.path.relpath(tasks[task], self.args.tests))
        self.say(f"built in {time.monotonic() - start:.0f} s" +
                 (f"; not everything built in: {', '.join(sorted(failed))}" if failed else ""))

    def _make(self, folder, targets):
        name = os.path.relpath(folder, self.args.tests).replace("/", "_")
        return self._logged(f"build-{name}", ["make", "-k"] + targets, folder, self.env)

    def _must(self, name, command, folder, env):
        if self._logged(name, command, folder, env) != 0:
            raise SuiteError(f"{name} failed; see {self._log(name)}")

    def _logged(self, name, command, folder, env):
        """Run a command with its output in a log; return its exit status."""
        with open(self._log(name), "wb") as log:
            return subprocess.call(command, cwd=folder, env={**env, MARK: self.mark}, stdout=log,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def _log(self, name):
        return os.path.join(self.args.log, name + ".log")

    # run ---------------------------------------------------------------------------------------

    def run(self, units):
        """Yield (unit, result file's text, seconds, problem or None) as each unit ends."""
        waiting, ended = queue.SimpleQueue(), queue.SimpleQueue()
        for unit in sorted(units, key=lambda unit: -unit.weight):
            waiting.put(unit)
        workers = [threading.Thread(target=self._work, args=(waiting, ended), daemon=True)
                   for _ in range(self.args.jobs)]
        for worker in workers:
            worker.start()
        limit = time.monotonic() + self.args.time_limit if self.args.time_limit else None
        for _ in units:
            while True:
                try:
                    yield ended.get(timeout=1)
                    break
                except queue.Empty:
                    self._watch(limit)

    def _work(self, waiting, ended):
        while True:
            try:
                unit = waiting.get_nowait()
            except queue.Empty:
                return
            ended.put(self._run_unit(unit))

    def _run_unit(self, unit):
        """Let runtests work through the unit's list."""
        list_file = os.path.join(self.args.log, unit.file_stem + ".list")
        tap = self.tap_of(unit)
        with open(list_file, "w", encoding="utf-8") as file:
            file.writelines(test.line + "\n" for test in unit.tests)
        with open(tap, "w", encoding="utf-8"):
            pass
        # the last character distinguishes the marks of pt2pt and pt2pt.dtp, which run at the same time
        mark = f"{self.mark}-{unit.file_stem}:"
        command = [os.path.join(self.args.tests, "runtests"), f"-srcdir={self.args.source}",
                   f"-tests={list_file}", f"-testdirs={unit.folder}", f"-tapfile={tap}",
                   f"-mpiexec={self.args.prefix}/bin/mpiexec"]
        command += [f"-maxnp={self.args.max_np}"] if self.args.max_np else []
        env = {**self.env, MARK: mark}
        if unit.folder in BY_STATUS:
            env["MPITEST_PROGRAM_WRAPPER"] = os.path.join(HERE, "judge-by-status")
        start = time.monotonic()
        if self.stopped.is_set():
            return unit, "", 0.0, "not started, the time limit was reached"
        with open(self.log_of(unit), "wb") as log:
            status = subprocess.call(command, cwd=self.args.tests, env=env, stdout=log, stderr=log,
                                     stdin=subprocess.DEVNULL)
        # A failed test may have left processes.
        send(self._marked(mark), signal.SIGKILL)
        problem = f"runtests ended with status {status}" if status != 0 else None
        with open(tap, encoding="utf-8", errors="replace") as file:
            return unit, file.read(), time.monotonic() - start, problem

    def _marked(self, mark):
        """The processes of this run (or of one unit) that are alive."""
        return [int(pid) for pid in os.listdir("/proc")
                if pid.isdigit() and environment_of(pid).get(MARK, "").startswith(mark)]

    def _watch(self, limit):
        """Kill processes that mpiexec should have ended, and all of them after the time limit."""
        if limit and time.monotonic() > limit and not self.stopped.is_set():
            self.say("time limit reached; stopping")
            self.stop()
        for pid in self._marked(self.mark):
            allowed = environment_of(pid).get("MPIEXEC_TIMEOUT", "")
            if allowed.isdigit() and age_of(pid) > int(allowed) + GRACE:
                send([pid], signal.SIGKILL)

    def stop(self):
        """Kill every process of this run; idempotent."""
        self.stopped.set()
        with open(self.stop_file, "w", encoding="utf-8") as file:
            file.write("stop\n")
        alive = self._marked(self.mark)
        send(alive, signal.SIGTERM)
        deadline = time.monotonic() + 3
        while alive and time.monotonic() < deadline:
            time.sleep(0.1)
            alive = self._marked(self.mark)
        send(alive, signal.SIGKILL)
        os.unlink(self.stop_file)

    # logs --------------------------------------------------------------------------------------

    def tap_of(self, unit):
        return os.path.join(self.args.log, unit.file_stem + ".tap")

    def log_of(self, unit):
        return os.path.join(self.args.log, unit.file_stem + ".out")

    def keep_failures(self, unit, outcomes):
        """Write a log for each failed test: how to repeat it, and its output."""
        for outcome in outcomes:
            if outcome.status == MISSING:
                self.failure_logs[outcome.test.key] = self.log_of(unit)
            if outcome.status != FAILED:
                continue
            test = outcome.test
            name = re.sub(r"[^A-Za-z0-9_.=-]+", "_", test.key)[:150]
            path = os.path.join(self.args.log, "failed", f"{name}.log")
            self.failure_logs[test.key] = path
            repeat = " ".join(test.env + [f"{self.args.prefix}/bin/mpiexec -n {test.np}",
                                          f"./{test.program}"] + test.args)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"cd {self.args.tests}/{test.folder} && {repeat}\n"
                           f"{outcome.seconds:.1f} s\n{outcome.text}\n")

    def failure_log(self, test):
        return self.failure_logs.get(test.key, self.args.log)
