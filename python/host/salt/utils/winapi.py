"""COM on Windows, as salt.utils.winapi has it."""


class Com:
    """Has COM ready for the time of a with statement; elsewhere it does nothing."""

    def __init__(self):
        try:
            import pythoncom
        except ImportError:
            pythoncom = None
        self._library = pythoncom

    def __enter__(self):
        if self._library is not None:
            self._library.CoInitialize()

    def __exit__(self, *_):
        if self._library is not None:
            self._library.CoUninitialize()
