"""Small programs that are measured from outside, as a user would have written them."""
