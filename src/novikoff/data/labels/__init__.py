"""Labels: from the users' values to codes and back."""
