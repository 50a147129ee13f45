"""What learners are made of: rules (when to update, and how hard), geometries (how the weights move), the one loop."""
