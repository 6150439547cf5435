##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##
"""Reads bench_pt2pt's output, and computes the figures of run-load and compares them with their goals.
Needs only Python itself, so that run-load runs anywhere."""

import csv
import statistics
from collections import defaultdict

KIB, MIB = 1 << 10, 1 << 20


class Results:
    """Medians: (measure, memory, type) -> method -> {bytes: us}; limits: name -> {bytes: us}. Of a row that is read
    several times, the median of these."""

    def __init__(self):
        self.cases = defaultdict(lambda: defaultdict(dict))
        self.limits = defaultdict(dict)
        self.rows = defaultdict(list)

    def read(self, path):
        with open(path, encoding="utf-8", newline="") as file:
            rows = csv.reader(line for line in file if not line.startswith("#"))
            header = next(rows, None)
            if not header or header[:3] != ["type", "bytes", "us_median"]:
                raise ValueError(f"{path}: not from bench_pt2pt")
            for row in rows:
                if row == header:  # of the next run in a file of several
                    continue
                measure, memory, method, kind = row[0].split(":")
                seen = self.rows[row[0], row[1]]
                seen.append(float(row[2]))
                at = self.limits[method] if measure == "limit" else self.cases[measure, memory, kind][method]
                at[int(row[1])] = statistics.median(seen)

    def of(self, measure, place, method="datatype"):
        """(memory, type, {bytes: us}) of each case of a measure in the given memories."""
        for (name, memory, kind), methods in list(self.cases.items()):
            if name == measure and memory.startswith(place + "/") and method in methods:
                yield memory, kind, methods[method]

    def overlap(self):
        """Combines the three rows of an overlap to one: the part of the messages' time that the kernel hides."""
        for measure, memory, kind in [key for key in self.cases if key[0] == "overlap-both"]:
            for method, both in self.cases[measure, memory, kind].items():
                messages = self.cases["overlap-messages", memory, kind][method]
                kernel = self.cases["overlap-kernel", memory, kind][method]
                self.cases["overlap", memory, kind][method] = {
                    size: (messages[size] + kernel[size] - both[size]) / min(messages[size], kernel[size])
                    for size in both if min(messages[size], kernel[size]) > 0
                }


def nearest(cases, size):
    """The case with at most size bytes and at least three quarters of them: not all types have the exact size."""
    fitting = [s for s in cases if 0.75 * size <= s <= size]
    return max(fitting) if fitting else None


def size_name(size):
    for unit, name in ((MIB, " MiB"), (KIB, " KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return f"{size} B"


# ---- figures under load ----


class Goal:
    """A figure: its name, its value, its goal (None: no goal), and what kernels written by hand reach without
    MPI in the same run (None: not measured)."""

    def __init__(self, what, value, unit, bound=None, at_least=False, note="", bare=None):
        self.what, self.value, self.unit = what, value, unit
        self.bound, self.at_least, self.note, self.bare = bound, at_least, note, bare

    def is_good(self, value):
        return self.bound is None or (value >= self.bound if self.at_least else value <= self.bound)

    def is_met(self):
        return self.is_good(self.value)

    def is_allowed(self):
        """Whether the machine is known to allow it, or at least not known not to."""
        return self.bare is None or self.is_good(self.bare)


def digits(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def window_goals(results):
    """The lowest ratio of a window's rate to the ping-pong rate of the same size, and to the best rate of
    smaller windows, from 1 to 16 MiB."""
    for memory, kind, window in results.of("window", "gpu-gpu"):
        pingpong = results.cases["pingpong", memory, kind]["datatype"]
        rate = {size: size / us / 1e3 for size, us in window.items()}
        rated = [size for size in sorted(rate) if 0.75 * MIB <= size <= 16 * MIB]
        rates = ", ".join(f"{size_name(size)} {rate[size]:.1f}" for size in rated)
        alone = [rate[size] * 1e3 * pingpong[size] / size for size in rated if size in pingpong]
        smaller = [rate[size] / max(rate[s] for s in rate if s < size) for size in rated
                   if any(s < size for s in rate)]
        if alone:
            yield Goal(f"64 outstanding, {memory} {kind}: part of the ping-pong rate", min(alone), "", 0.9, True,
                       f"GB/s: {rates}")
        if smaller:
            yield Goal(f"64 outstanding, {memory} {kind}: part of smaller windows' rate", min(smaller), "", 0.9, True)
    for memory, kind, both in results.of("window-both", "gpu-gpu"):
        large = nearest(both, 16 * MIB)
        if large:
            yield Goal(f"64 outstanding both ways, {memory} {kind}, 16 MiB: in sum", 2 * large / both[large] / 1e3,
                       "GB/s")


def bidir_goals(results):
    for memory, kind, both in results.of("bidir", "gpu-gpu"):
        alone, size = results.cases["pingpong", memory, kind]["datatype"], nearest(both, 64 * MIB)
        if size in alone:
            yield Goal(f"both ways at once, {memory} {kind}, 64 MiB: part of one way", alone[size] / both[size], "",
                       0.85, True, f"GB/s each: {size / both[size] / 1e3:.1f} of {size / alone[size] / 1e3:.1f}")


def mixed_goals(results):
    for place, bound in (("host-gpu", 1.0), ("gpu-host", None)):
        for memory, kind, window in results.of("window", place):
            small, large = nearest(window, MIB), nearest(window, 16 * MIB)
            if small and large:
                yield Goal(f"64 outstanding, {memory} {kind}: 16 MiB beside 1 MiB",
                           large / window[large] / (small / window[small]), "", bound, True,
                           f"GB/s: {large / window[large] / 1e3:.1f}, {small / window[small] / 1e3:.1f}")


def halo_goals(results):
    for memory, kind, ours in results.of("halo26", "gpu-gpu"):
        for method in ("fused", "fused-host"):
            for size, us in results.cases["halo26", memory, kind][method].items():
                bound = 1.0 if kind.startswith("p256_") else None
                yield Goal(f"26 neighbours, {memory} {kind}: times {method}", ours[size] / us, "", bound, False,
                           f"us: {ours[size]:.0f}, {us:.0f}")


def rate_goals(results):
    for memory, kind, rate in results.of("rate", "gpu-gpu"):
        for size in (8, 64, KIB):
            if size in rate:
                yield Goal(f"rate one way, {memory} {kind}, {size_name(size)}", 1e6 / rate[size], "/s",
                           350000 if size == 8 else None, True)


def isend_goals(results):
    for measure, limit in (("isend-first", "launch-call"), ("isend-burst", "launch-calls")):
        call = results.limits[limit].get(0)
        for memory, kind, isend in results.of(measure, "gpu-gpu"):
            worst = max(isend, key=isend.get)
            yield Goal(f"MPI_Isend, {measure[6:]}, {memory} {kind}, slowest size", isend[worst], "us",
                       call + 1 if call is not None else None, False, f"at {size_name(worst)}")


def peers_goals(results):
    for memory, kind, peers in results.of("peers", "gpu-gpu"):
        for us in peers.values():
            yield Goal(f"many to all, {memory} {kind}: a message", us, "us",
                       40 if kind.startswith("vector") and kind.endswith("_r8") else None)


def first_goals(results):
    for measure, bound in (("first", 10), ("first-next", None), ("first-peer", 10), ("first-init", None)):
        for memory, kind, first in results.of(measure, "gpu-gpu", "none" if measure == "first-init" else "datatype"):
            for size, us in sorted(first.items()):
                yield Goal(f"{measure} message, {memory} {kind}, {size_name(size)}" if measure != "first-init" else
                           f"MPI_Init, {memory}", us / 1e3, "ms", bound)


def iprobe_goals(results):
    for place, bound in (("gpu-gpu", 1.0), ("host-host", None)):
        for memory, kind, iprobe in results.of("iprobe", place):
            idle = results.cases["iprobe-idle", memory, kind]["datatype"]
            worst = max(iprobe, key=iprobe.get)
            yield Goal(f"MPI_Iprobe beside 1,000 sends, {memory} {kind}, slowest size", iprobe[worst], "us", bound,
                       False, f"at {size_name(worst)}; beside none {digits(idle[worst]) if worst in idle else '-'}")


def beside_goals(results):
    for what in ("few", "memory"):
        for memory, kind, beside in results.of(f"beside-{what}", "gpu-gpu"):
            alone = results.cases["pingpong", memory, kind]["datatype"]
            ratio = {size: beside[size] / alone[size] for size in beside if size in alone}
            if ratio:
                worst = max(ratio, key=ratio.get)
                yield Goal(f"ping-pong beside a kernel ({what}), {memory} {kind}: times alone", ratio[worst], "", None,
                           False, f"at {size_name(worst)}")


# ---- figures of the direct way ----

# bytes -> goal of any type, and of contiguous bytes
LAUNCHES = {8: (None, 1.15), KIB: (1.3, 1.3), 64 * KIB: (1.4, 1.4)}
FIXED = {MIB: (18, 12.5), 4 * MIB: (32, 20)}
WINDOW_PARTS = {256 * KIB: 0.6, 4 * MIB: 0.9, 16 * MIB: 0.9}


def pair_bound(results, kind, size, found):
    """The goal of a message between two GPUs in us, from what was measured in the same run, or None."""
    which = 1 if kind == "contiguous" else 0
    local = [results.cases[way, "gpu-gpu/2", kind]["datatype"].get(found) for way in ("pack", "unpack")]
    launch, peer = results.limits["launch"].get(0), results.limits["peer"].get(size)
    if size in LAUNCHES:
        part = LAUNCHES[size][which]
        return part * launch if part and launch else None
    if size in FIXED:
        return max(FIXED[size][which], 1.25 * (local[1] or 0) if size == 4 * MIB and not which else 0)
    if not peer or not all(local):
        return None
    return 1.05 * peer if which else 1.25 * max(peer, *local)


def bare_times(results, kind):
    """bytes -> the least time of the ways in which kernels written by hand move the type without MPI."""
    least = {}
    for (measure, _, of_kind), methods in list(results.cases.items()):
        if measure.startswith("bare-") and of_kind == kind:
            for size, us in methods["hand"].items():
                least[size] = min(us, least.get(size, us))
    return least


def pair_goals(results):
    """Between two GPUs: for each size contiguous bytes, and all types from the slowest on."""
    launch = results.limits["launch"].get(0)
    for size in (*LAUNCHES, *FIXED, 64 * MIB):
        goals = []
        for memory, kind, ours in results.of("pingpong", "gpu-gpu"):
            found = nearest(ours, size)
            if memory != "gpu-gpu/2" or not found:
                continue
            methods, note, bare = results.cases["pingpong", memory, kind], [], bare_times(results, kind).get(found)
            if launch and size in LAUNCHES:
                note.append(f"{ours[found] / launch:.2f} launches")
            if bare:
                note.append(f"by hand without MPI {digits(bare)}")
            for name, times in (("own kernels", methods["kernel-gpu"]), ("ring", methods["ring"]),
                                *((way, results.cases[way, memory, kind]["datatype"]) for way in ("pack", "unpack"))):
                if found in times:
                    note.append(f"{name} {digits(times[found])}")
            if size in results.limits["peer"]:
                note.append(f"copy engine {digits(results.limits['peer'][size])}")
            goals.append(Goal(f"{size_name(size)}, {kind}", ours[found], "us", pair_bound(results, kind, size, found),
                              False, ", ".join(note), bare))
        yield from sorted(goals, key=lambda goal: (not goal.what.endswith(" contiguous"), -goal.value))


def window_direct_goals(results):
    engine = results.limits["peer-burst"]
    for measure, ways in (("window", "one way"), ("window-both", "both ways")):
        for memory, kind, times in results.of(measure, "gpu-gpu"):
            for size in sorted(engine):
                found = nearest(times, size)
                if memory == "gpu-gpu/2" and found:
                    yield Goal(f"64 outstanding {ways}, {kind}, {size_name(size)}: part of the copy engine's rate",
                               engine[size] / size * found / times[found], "", WINDOW_PARTS.get(size), True,
                               f"GB/s each: {digits(found / times[found] / 1e3)} of {digits(size / engine[size] / 1e3)}")


def one_gpu_goals(results):
    for memory, kind, times in results.of("pingpong", "gpu-gpu"):
        for size in (8, 64 * KIB, 64 * MIB):
            found = nearest(times, size)
            if memory != "gpu-gpu/1" or not found:
                continue
            local = [results.cases[way, "gpu-gpu/2", kind]["datatype"].get(found) for way in ("pack", "unpack")]
            bound = 25 if size < MIB else 1.5 * sum(local) if all(local) else None
            yield Goal(f"two ranks on one GPU, {kind}, {size_name(size)}", times[found], "us", bound, False,
                       f"pack {digits(local[0])}, unpack {digits(local[1])}" if all(local) else "")


def example_goals(results):
    for memory, kind, times in results.of("halo3d", "gpu-gpu"):
        yield Goal(f"halo3d {kind}, {memory}: an exchange", times[0] / 1e3, "ms", 0.45)
    himeno = {(memory, kind): times[0] for memory, kind, times in results.of("himeno", "gpu-gpu")}
    one = himeno.get(("gpu-gpu/1", "L"))
    for kind, how in (("L", ""), ("L-overlap", ", the exchange beside the computation")):
        two = himeno.get(("gpu-gpu/2", kind))
        if one and two:
            yield Goal(f"himeno L, two GPUs over one{how}", one / two, "", 1.9, True,
                       f"us an iteration: {one:.1f}, {two:.1f}")


# ---- tables ----

MAKERS = {
    "load": (window_goals, bidir_goals, mixed_goals, halo_goals, rate_goals, isend_goals, peers_goals, first_goals,
             iprobe_goals, beside_goals),
    "direct": (pair_goals, window_direct_goals, one_gpu_goals, example_goals),
}


def goals_print(results, table="load"):
    """Prints the table of all figures that were measured. Returns the number of missed goals."""
    goals = [goal for make in MAKERS[table] for goal in make(results)]
    width = max((len(goal.what) for goal in goals), default=10)
    print(f"{'figure':{width}} {'value':>10}      {'goal':>10} met")
    for goal in goals:
        bound = "-" if goal.bound is None else (">=" if goal.at_least else "<=") + digits(goal.bound)
        says = "" if goal.bound is None else "yes" if goal.is_met() else "NO" if goal.is_allowed() else "no*"
        print(f"{goal.what:{width}} {digits(goal.value):>10} {goal.unit:4} {bound:>10} {says:3}  {goal.note}".rstrip())
    missed = sum(not goal.is_met() for goal in goals)
    print(f"{sum(goal.bound is not None for goal in goals)} goals, {missed} missed")
    beyond = sum(not goal.is_met() and not goal.is_allowed() for goal in goals)
    if beyond:
        print(f"* {beyond} of these are missed by kernels written by hand without MPI, too")
    return missed
