"""Recurrent cells as single ops: LSTM, GRU."""
