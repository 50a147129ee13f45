"""Certificates: proofs of what a learner did on a stream, built from witnesses and verifiable from the data alone."""
