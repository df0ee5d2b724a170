"""The shuffler of the second protocol: a card per window, one report a pass, one batch for ever."""
