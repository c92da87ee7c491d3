"""Control laws: frozen settings, each also a program; the Lyapunov functions that go with them; a controller in C."""
