"""What a schedule runs on. `base.py` says what a device is; one file holds each."""
