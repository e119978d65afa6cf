"""Test-case reduction: the smallest model that still shows a finding."""
