"""How quickly the doors answer where there is much behind them; see `__main__`."""
