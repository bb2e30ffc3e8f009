"""FLOPs and bytes of operators and modules, by formula."""
