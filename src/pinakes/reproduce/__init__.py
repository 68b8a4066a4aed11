"""Every table and figure of the papers, as commands: `pinakes reproduce run NAME`.

A new experiment is one module with a class derived from `Experiment`, and one line here; see docs/reproduce.md.
"""

from __future__ import annotations

import importlib
from typing import NamedTuple

from pinakes.errors import ParameterError, closest
from pinakes.reproduce.experiment import Experiment

__all__ = ["EXPERIMENTS", "Experiment", "load_experiment"]


class Entry(NamedTuple):
    """Where an experiment is, and what `pinakes reproduce list` says about it without loading it."""

    place: str  # module:class
    title: str


EXPERIMENTS = {
    "2003-table1": Entry("pinakes.reproduce.table1_2003:Table1", "2003, Table 1: section D of the IPC"),
    "2003-table2": Entry("pinakes.reproduce.table2_2003:Table2", "2003, Table 2: word senses"),
    "2004-table1": Entry("pinakes.reproduce.table1_2004:Table1", "2004, Table 1: synthetic data"),
    "2004-tables23": Entry("pinakes.reproduce.tables23_2004:Tables23", "2004, Tables 2 and 3: the sections of the IPC"),
    "2004-figure3": Entry("pinakes.reproduce.figure3_2004:Figure3", "2004, Figure 3: performance over C"),
    "2004-figure4": Entry("pinakes.reproduce.figure4_2004:Figure4", "2004, Figure 4: the course of the optimisation"),
    "2004-speedup": Entry("pinakes.reproduce.speedup_2004:Speedup", "2004, section 6.4: what active sets save"),
    "2005-figure2": Entry("pinakes.reproduce.figure2_2005:Figure2", "2005, Figure 2: documents in two dimensions"),
    "2005-figure3": Entry("pinakes.reproduce.figure3_2005:Figure3", "2005, Figure 3: classification in feature spaces"),
    "2005-figure4": Entry("pinakes.reproduce.figure4_2005:Figure4", "2005, Figure 4: how much gamma matters"),
    "2005-speed": Entry("pinakes.reproduce.speed_2005:Speed", "2005, section 4.3: training in few dimensions"),
    "2007-svm": Entry("pinakes.reproduce.svm_2007:SvmTables", "2007: flat and hierarchical SVM with several labels"),
    "2007-minover": Entry("pinakes.reproduce.minover_2007:MinOver", "2007: flat and hierarchical MinOver perceptron"),
    "2007-growth": Entry("pinakes.reproduce.growth_2007:Growth", "2007: growing samples of each category"),
    "2013-table1": Entry("pinakes.reproduce.table1_2013:Table1", "2013, Table 1: the data sets"),
    "2013-tables23": Entry(
        "pinakes.reproduce.tables23_2013:Tables23", "2013, Tables 2 and 3: accuracy and training time"
    ),
    "2013-table4": Entry("pinakes.reproduce.table4_2013:Table4", "2013, Table 4: kernels"),
    "2013-curves": Entry("pinakes.reproduce.figure_2013:Curves", "2013: F1 and margin over iterations"),
}


def load_experiment(name: str) -> Experiment:
    """Give the experiment of this name."""
    if name not in EXPERIMENTS:
        known = closest(name, EXPERIMENTS) or f"; known are {', '.join(EXPERIMENTS)}"
        raise ParameterError(f"there is no experiment {name!r}{known}")
    module, _, kind = EXPERIMENTS[name].place.partition(":")
    experiment = getattr(importlib.import_module(module), kind)()
    assert isinstance(experiment, Experiment)
    return experiment
