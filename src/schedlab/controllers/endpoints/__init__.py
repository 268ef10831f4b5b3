"""The Endpoints controller: the addresses of each service's pods in one object of the old kind."""
