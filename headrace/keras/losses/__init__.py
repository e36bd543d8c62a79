"""Losses: functions of labels and predictions, per example, and the classes that reduce them."""
