"""Reading data: file formats, rows, labels, feature names, shuffling and generated streams."""
