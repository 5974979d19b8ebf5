"""The face of a release: ``index.html``, the page that its recipients see.

It is public, and computed from the folder of the release alone: manifest, tables, codebook, measurements. Made again
from the same folder it is the same, byte for byte. It runs no script and loads nothing.
"""

from understudy.release.face.page import FACE, ShownTable, face_of

__all__ = ["FACE", "ShownTable", "face_of"]
