"""`python -m taupi`."""

from taupi.cli.main import run

if __name__ == "__main__":
    run()
