"""Search for witnesses. Nothing found here is trusted: `certificates.measure` measures every witness again."""
