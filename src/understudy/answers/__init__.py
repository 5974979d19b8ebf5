"""Questions that are answered on the real data, each at a price: counts, means, quantiles, models.

A question is parsed and priced without the data (:func:`parse_question`, :func:`plan_answer`), tried on a release for
free (:func:`on_release`), and answered once it is paid for (:meth:`Plan.draw`). Data are read as counts only.
"""

from understudy.answers.comparing import on_release
from understudy.answers.plan import Plan, plan_answer
from understudy.answers.product import Answer
from understudy.answers.question import Question, parse_question

__all__ = ["Answer", "Plan", "Question", "on_release", "parse_question", "plan_answer"]
