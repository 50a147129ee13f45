"""Makes the site of the documentation: `make docs`, or `python -m docs.builder [FOLDER]`.

The pages are those of this repository, as they are read on a code host: README, CONTRIBUTING, SECURITY, CHANGELOG,
docs/ and notebooks/. They are copied aside with the folders that they lie in, so that their links stay as they are;
pictures are put where a page says `<!-- picture -->`, drawn by the real learners; Sphinx makes the HTML.
"""
