"""One script per method for the interpreter of its environment: TRAIN.csv LEVELS.json EPSILON DELTA ROWS OUT.csv."""
