"""What a deployment changes: every module beside it says which release it is of."""

RELEASE = 0
