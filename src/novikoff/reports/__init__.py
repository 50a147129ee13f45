"""HTML report pages; Plotly and Jinja2 are imported only when a page is built."""
