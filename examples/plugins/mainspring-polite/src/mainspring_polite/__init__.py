"""Commands that give way to everything else on the machine."""
