"""Random order of examples: permutations in memory and the external shuffle of files."""
