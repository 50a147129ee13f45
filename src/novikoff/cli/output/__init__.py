"""Output of the commands: figures, progress lines, model files and reports."""
