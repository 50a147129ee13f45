"""Build the documentation site: `make docs`, or `python -m docs.builder [FOLDER]`.

The pages are the Markdown files of this repository: README, CONTRIBUTING, SECURITY, CHANGELOG, docs/ and notebooks/.
They are copied with their folders, so that their links remain valid. `<!-- picture -->` is replaced by a picture that
the real learner draws. Sphinx renders the HTML.
"""
