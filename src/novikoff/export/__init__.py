"""Models for other programs: ONNX graphs and JSON. See docs/commands/export.md."""
