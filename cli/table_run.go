package cli

func runProgram(env environ) *program {
	return &program{name: "salt-run", usage: "%prog [options] <function> [arguments]",
		description: "salt-run is the frontend command for executing Salt Runners.\nSalt Runners are modules used to " +
			"execute convenience functions on the Salt Master",
		groups: []group{
			{options: runTable(env)},
			authGroup(),
			outputGroup("salt-run"),
			profilingGroup(),
			runOutputGroup(),
			loggingGroup("log_file", "/var/log/salt/master"),
		},
	}
}

func runTable(env environ) []option {
	return []option{
		optVersion(),
		optVersionsReport(),
		optHelp(),
		optSaltfile(),
		optConfigDir(env),
		{names: "-t --timeout", dest: "timeout", kind: integer, def: int64(1),
			help: "Change the timeout, if applicable, for the running command (in seconds). Default: %default."},
		optArgsStdin(),
		{names: "--jid", dest: "jid", help: "Pass a JID to be used instead of generating one."},
		optHardCrash(env),
		optNoParse(env),
		{names: "-d --doc --documentation", dest: "doc", kind: boolean, def: false,
			help: "Display documentation for runners, pass a runner or runner.function to see documentation on " +
				"only that runner or function."},
		{names: "--async", dest: "async", kind: boolean, def: false,
			help: "Start the runner operation and immediately return control."},
		optSkipGrains(),
	}
}

func runOutputGroup() group {
	return group{title: "Output Options", description: "Configure your preferred output format.",
		options: []option{
			{names: "--quiet", dest: "quiet", kind: boolean, def: false,
				help: "Do not display the results of the run."},
		}}
}
