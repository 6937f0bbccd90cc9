"""Which changes of a page matter (section 5 of the quadruplet paper): drawn pages whose important changes are known."""
