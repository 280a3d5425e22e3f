"""Experiments on loops: trials over cases and variants, what another rule would have done."""
