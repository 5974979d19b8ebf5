"""Risk-utility maps: many releases that are never published, to see what an epsilon buys (pegs.txt section 4.3)."""
