"""The client of runners, as salt.runner has it."""

from salt._control import Client


class RunnerClient(Client):
    """Runs runners of the master: RunnerClient(opts).cmd("jobs.active", [])."""

    client, kind, tag_prefix = "runner", "runner", "run"


class Runner(RunnerClient):
    """The same, for the options of the command salt-run."""

    def run(self, full_return=False):
        """Run the function that the options name."""
        return self.cmd(self.opts["fun"], self.opts.get("arg", []), full_return=full_return)
