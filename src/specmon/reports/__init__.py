"""The verdict without a screen: text, the JSON contract, plain lines."""
