"""Emitters: a program as source text, one file per language. `LANGUAGES` names them."""

# Each module has `files(program, name, dtype)`, which returns texts by file name, the main one first.
LANGUAGES: dict[str, str] = {
    "c": "taupi.program.emitters.c",
    "python": "taupi.program.emitters.python",
    "matlab": "taupi.program.emitters.matlab",
    "cuda": "taupi.program.emitters.cuda",
}
