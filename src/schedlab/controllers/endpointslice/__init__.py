"""The EndpointSlice controller: the addresses of each service's pods, a hundred per slice, with hints for routing."""
