"""Random intercepts and slopes (dissertation section 4.4.1), in the form that survives singular normal equations.

With G the group indicators (and the group's own copy of some columns), gamma minimises
|sqrt(W)(r - A G gamma)|^2 + ridge |gamma|^2 for the residual r = s - A U v, that is

    gamma = (A G)' ((A G)(A G)' + ridge (K + V / sigma^2))+ r,     V the variance of declared noise, if any,

a p x p problem. (The dissertation inverts (A G)'W A G, which is singular as soon as there are slopes: rank 5 of 10
for five groups.) With intercepts only and no ridge, G gamma is exactly the correction equation. How r is split between
intercept and slopes is not identified by the averages: this is the split of least norm, and it depends on where a
column has its zero.
"""

import numpy as np

from understudy.extras import need
from understudy.reconstruct.grams import DenseGram, Floats
from understudy.reconstruct.problem import Stack


def group_effects(
    stack: Stack, matrix: Floats, residual: Floats, *, columns: list[int], ridge: float, noise: Floats
) -> Floats:
    """gamma: one row per group of the first level, one column per column of X, zero where there is no effect.

    ``columns`` of X get a copy per group, the constant among them; ``noise`` is V / sigma^2.
    """
    need("scipy", extra="models", what="reconstruction")
    from scipy import sparse

    level = stack.levels[0]
    p, people = len(level.groups), matrix.shape[0]
    codes = level.members[0]
    inside = np.flatnonzero(codes >= 0)
    blocks = [
        stack.matrix @ sparse.csr_matrix((matrix[inside, column], (inside, codes[inside])), shape=(people, p))
        for column in columns
    ]
    averaged = sparse.hstack(blocks).tocsr()  # A G
    inner = (averaged @ averaged.T).toarray()
    if ridge:
        k = stack.groups
        inner += ridge * ((k.matrix if isinstance(k, DenseGram) else np.diag(k.diagonal)) + np.diag(noise))
    solved = np.asarray(averaged.T @ DenseGram(inner).pinv(residual)).reshape(len(columns), p)
    gamma = np.zeros((p, matrix.shape[1]))
    gamma[:, columns] = solved.T
    return gamma
