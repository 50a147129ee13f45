"""The HTTP server for online prediction and learning. Every acknowledged example is durable.

A request passes http/connections → http/middleware → http/app → models/model_stream → storage/journal → the model.
"""
