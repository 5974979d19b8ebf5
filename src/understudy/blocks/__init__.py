"""Statistical building blocks Pr(x_i | h(x_-i)): key functions, parents, priors, conditional tables."""
