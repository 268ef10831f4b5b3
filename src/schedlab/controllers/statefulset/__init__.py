"""The StatefulSet controller: pods with names, order and claims of their own."""
