"""The client of wheel functions, as salt.wheel has it."""

from salt._control import Client


class WheelClient(Client):
    """Runs wheel functions of the master: WheelClient(opts).cmd("key.list_all")."""

    client, kind, tag_prefix = "wheel", "wheel", "wheel"

    def call_func(self, fun, **kwargs):
        """Run a function with keywords and return its value."""
        return self.cmd(fun, kwarg=kwargs)

    def master_call(self, **kwargs):
        """Run the function that fun names and return its job."""
        return self.cmd_sync(kwargs, full_return=True)


Wheel = WheelClient
