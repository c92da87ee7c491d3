"""A tape as LLVM text for vectors over the batch: what the CPU target compiles."""
