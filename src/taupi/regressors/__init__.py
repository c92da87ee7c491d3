"""Regressors: the dynamics as matrices that multiply the parameters, tau = Y pi."""
