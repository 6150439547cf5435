##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##
"""Our edits to MPICH's files: a stack of patches, applied in order, at exact line numbers.

A patch is a message and, for each file, hunks without context (diff -U0). Fixes come first, then
hooks, each in the order of their names. The line numbers of a patch are those of the file with all
earlier patches applied. A hunk whose removed lines are not at its line number does not apply; there
is no search.
"""

import re
import subprocess
import tempfile

KINDS = ("fixes", "hooks")
HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


class Unfit(Exception):
    """A patch that cannot be read or applied; says why on one line."""


class Hunk:
    """Lines old, of which the first has index start, become lines new."""

    def __init__(self, start, old, new):
        self.start = start
        self.old = old
        self.new = new

    @property
    def end(self):
        return self.start + len(self.old)


class Patch:
    """A file of the stack: its message, and file of MPICH -> hunks."""

    def __init__(self, path):
        self.path = path
        self.kind = path.parent.name
        self.head = b""
        self.files = {}
        if path.is_file():
            self.head, *sections = re.split(rb"^(?=--- a/)", path.read_bytes(), flags=re.M)
            for section in sections:
                name = re.match(rb"--- a/(\S+)\n\+\+\+ b/\1\n", section)
                if not name:
                    raise self.unfit("lines '--- a/FILE' and '+++ b/FILE' do not belong together")
                self.files[name.group(1).decode()] = self.hunks(section[name.end():])

    @property
    def name(self):
        return f"{self.kind}/{self.path.name}"

    def unfit(self, why):
        return Unfit(f"maint/patches/{self.name} does not fit ({why}); doc/maintaining.md says how to refresh it")

    def hunks(self, text):
        try:
            return parse(text)
        except Unfit as why:
            raise self.unfit(why)

    def apply(self, name, lines):
        """Lines of a file with this patch applied."""
        try:
            return apply(lines, self.files.get(name, []))
        except Unfit as why:
            raise self.unfit(f"{name}, {why}")

    def text(self):
        out = self.head
        for name, hunks in self.files.items():
            out += f"--- a/{name}\n+++ b/{name}\n".encode() + text(hunks)
        return out


def lines_of(data):
    """Lines as diff and patch define them: only a line feed ends a line."""
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def stack(top):
    """All patches, in order."""
    root = top / "maint/patches"
    stray = [p for p in root.rglob("*.patch") if p.parent.name not in KINDS or p.parent.parent != root]
    if stray:
        raise Unfit(f"{stray[0]} is neither in maint/patches/fixes nor in maint/patches/hooks")
    return [Patch(path) for kind in KINDS for path in sorted((root / kind).glob("*.patch"))]


def parse(diff):
    """The hunks of diff -U0's output, without its two lines of names."""
    hunks, sizes = [], []
    for line in lines_of(diff):
        header = HUNK.match(line)
        if header:
            first, removed, added = (1 if n is None else int(n) for n in header.groups())
            # the line number of a hunk that removes nothing is that of the line before it
            hunks.append(Hunk(first if removed == 0 else first - 1, [], []))
            sizes.append((removed, added))
        elif hunks and line[:1] == b"-":
            hunks[-1].old.append(line[1:])
        elif hunks and line[:1] == b"+":
            hunks[-1].new.append(line[1:])
        else:
            raise Unfit(f"the line '{line.decode().rstrip()}' is none of diff -U0")
    for hunk, size in zip(hunks, sizes):
        if size != (len(hunk.old), len(hunk.new)):
            raise Unfit(f"the hunk for line {hunk.start + 1} does not have as many lines as it says")
    return hunks


def text(hunks):
    out, shift = b"", 0
    for h in hunks:
        old, new = h.start + (len(h.old) > 0), h.start + shift + (len(h.new) > 0)
        ranges = [f"{first}" + (f",{n}" if n != 1 else "") for first, n in ((old, len(h.old)), (new, len(h.new)))]
        out += f"@@ -{ranges[0]} +{ranges[1]} @@\n".encode()
        out += b"".join(b"-" + line for line in h.old) + b"".join(b"+" + line for line in h.new)
        shift += len(h.new) - len(h.old)
    return out


def apply(lines, hunks):
    """Lines with the hunks applied, which are in order and do not overlap."""
    out, at = [], 0
    for h in hunks:
        if not at <= h.start <= len(lines) or lines[h.start:h.end] != h.old:
            raise Unfit(f"what it removes is not at line {h.start + 1}")
        out += lines[at:h.start] + h.new
        at = h.end
    return out + lines[at:]


def diff(old, new):
    """Hunks that make the lines new of the lines old."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(new))
        file.flush()
        done = subprocess.run(["diff", "-a", "-U0", "-", file.name], input=b"".join(old), stdout=subprocess.PIPE)
    if done.returncode > 1:
        raise Unfit("diff failed")
    return parse(done.stdout.split(b"\n", 2)[2]) if done.stdout else []


def together(edit, other):
    """Merges two lists of hunks for the same lines. None if the result would depend on their order: they
    change the same lines, or add lines at the same place."""
    merged = sorted(edit + other, key=lambda h: (h.start, h.end))
    for a, b in zip(merged, merged[1:]):
        is_same_place = a.start == a.end == b.start == b.end
        if b.start < a.end or is_same_place:
            return None
    return merged
