##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##
"""Plots as SVG: the same data gives the same file, so that changes show in diffs."""


def pyplot():
    """matplotlib's pyplot without a display. Raises ImportError if matplotlib is missing."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "gpudt"
    matplotlib.rcParams["svg.fonttype"] = "none"
    import matplotlib.pyplot as plt

    return plt


def save(plt, figure, path):
    """Writes the figure and closes it."""
    if figure.get_layout_engine() is None:
        figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
