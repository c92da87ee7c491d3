"""A joint term, a control law, an estimator and a log format for taupi. Copy what you need."""
