"""The compiled library: kernels that are compiled when the package is built, and how Python calls them."""
