"""The code on the battery: QR codes of unique identifiers, and sheets of labels to print."""
