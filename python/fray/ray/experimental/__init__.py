"""`ray.experimental`: progress bars of tasks."""
