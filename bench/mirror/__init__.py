"""What real clusters cost: importing one, following it, and finding the small part of one that matters."""
