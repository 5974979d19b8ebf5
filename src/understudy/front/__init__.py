"""The front of every HTTP server here: deadlines, a limit on connections, strict heads, and paced JSON log lines.

An application calls :func:`understudy.front.server.listen`; nothing else in this room needs to be known.
"""
