"""Search for witnesses. The results are not trusted: `certificates.measure` measures every witness again."""
