"""What came out, for people: a model's report as one page, and two models compared on the same documents."""

from pinakes.reports.comparison import Comparison, compare
from pinakes.reports.evaluation import Evaluation, evaluate
from pinakes.reports.page import write_report
from pinakes.reports.report import Report, make_report

__all__ = ["Comparison", "Evaluation", "Report", "compare", "evaluate", "make_report", "write_report"]
