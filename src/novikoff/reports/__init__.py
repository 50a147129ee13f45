"""Results as pages that people look at. Plotly is imported when a page is made, and nowhere else."""
