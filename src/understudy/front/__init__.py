"""The front of every HTTP server here: deadlines, a limit on connections, strict heads, and paced JSON log lines.

An application calls :func:`understudy.front.serving.bound` and :func:`~understudy.front.serving.answer`, and
:func:`understudy.front.lines.configure` for its log.
"""
