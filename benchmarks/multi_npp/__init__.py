"""Multi-NPP, by the protocol of Quadrianto and Lampert (ICML 2011)."""
