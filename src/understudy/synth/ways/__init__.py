"""Ways of drawing rows from released tables, one class each."""

from understudy.synth.ways.agreeing import Agreeing
from understudy.synth.ways.cells import Cells
from understudy.synth.ways.chains import Chains
from understudy.synth.ways.network import Network
from understudy.synth.ways.wanted import Drawn, Progress, Wanted, Where
from understudy.synth.ways.way import Way

__all__ = ["Agreeing", "Cells", "Chains", "Drawn", "Network", "Progress", "Wanted", "Way", "Where"]
