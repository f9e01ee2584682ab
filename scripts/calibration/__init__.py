"""The parts of scripts/calibrate_iterations.py."""
