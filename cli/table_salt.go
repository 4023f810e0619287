package cli

import "github.com/brineproject/brine/data"

func saltProgram(env environ) *program {
	return &program{name: "salt", usage: "%prog [options] '<target>' <function> [arguments]",
		description: "Salt allows for commands to be executed across a swath of remote systems in\nparallel, so they " +
			"can be both controlled and queried with ease.",
		groups: []group{
			{options: saltTable(env)},
			targetGroup(),
			additionalTargetGroup(),
			authGroup(),
			outputGroup("salt"),
			loggingGroup("log_file", "/var/log/salt/master"),
		},
	}
}

func saltTable(env environ) []option {
	return []option{
		optVersion(),
		optVersionsReport(),
		optHelp(),
		optSaltfile(),
		optConfigDir(env),
		optModuleExecutors(),
		optExecutorOpts(),
		optTimeout(),
		optArgsStdin(),
		optHardCrash(env),
		optNoParse(env),
		{names: "-s --static", dest: "static", kind: boolean, def: false,
			help: "Return the data from minions as a group after they all return."},
		{names: "-p --progress", dest: "progress", kind: boolean, def: false,
			help: "Display a progress graph. Requires \"progressbar\" python package."},
		{names: "--failhard", dest: "failhard", kind: boolean, def: false,
			help: "Stop batch execution upon first \"bad\" return."},
		{names: "--async", dest: "async", kind: boolean, def: false,
			help: "Run the salt command but don't wait for a reply."},
		{names: "--subset", dest: "subset", kind: integer, def: int64(0),
			help: "Execute the routine on a random subset of the targeted minions. The minions will be verified " +
				"that they have the named function before executing."},
		{names: "-v --verbose", dest: "verbose", kind: boolean, def: false,
			help: "Turn on command verbosity, display jid and active job queries."},
		{names: "--hide-timeout", dest: "show_timeout", kind: negated, def: true,
			help: "Hide minions that timeout."},
		{names: "--show-jid", dest: "show_jid", kind: boolean, def: false,
			help: "Display jid without the additional output of --verbose."},
		{names: "-b --batch --batch-size", dest: "batch", def: "",
			help: "Execute the salt job in batch mode, pass either the number of minions to batch at a time, or " +
				"the percentage of minions to have running."},
		{names: "--batch-wait", dest: "batch_wait", kind: real, def: int64(0),
			help: "Wait the specified time in seconds after each job is done before freeing the slot in the batch " +
				"for the next one."},
		{names: "--batch-safe-limit", dest: "batch_safe_limit", kind: integer, def: int64(0),
			help: "Execute the salt job in batch mode if the job would have executed on at least this many minions."},
		{names: "--batch-safe-size", dest: "batch_safe_size", def: int64(8),
			help: "Batch size to use for batch jobs created by batch-safe-limit."},
		{names: "--return", dest: "return", def: "", metavar: "RETURNER",
			help: "Set an alternative return method. By default salt will send the return data from the command " +
				"back to the master, but the return data can be redirected into any number of systems, databases " +
				"or applications."},
		{names: "--return_config", dest: "return_config", def: "", metavar: "RETURNER_CONF",
			help: "Set an alternative return method. By default salt will send the return data from the command " +
				"back to the master, but the return data can be redirected into any number of systems, databases " +
				"or applications."},
		{names: "--return_kwargs", dest: "return_kwargs", def: &data.Map{},
			metavar: "RETURNER_KWARGS",
			help:    "Set any returner options at the command line."},
		optDoc(),
		{names: "--args-separator", dest: "args_separator", def: ",",
			help: "Set the special argument used as a delimiter between command arguments of compound commands. " +
				"This is useful when one wants to pass commas as arguments to some of the commands in a compound " +
				"command."},
		{names: "--summary", dest: "cli_summary", kind: boolean, def: false,
			help: "Display summary information about a salt command."},
		{names: "--metadata", dest: "metadata", def: "", metavar: "METADATA",
			help: "Pass metadata into Salt, used to search jobs."},
		optStateOutputDiff(),
		{names: "--config-dump", dest: "config_dump", kind: boolean, def: false,
			help: "Dump the master configuration values"},
		{names: "--preview-target", dest: "preview_target", kind: boolean, def: false,
			help: "Show the minions expected to match a target. Does not issue any command."},
		{names: "--queue", dest: "queue", kind: optional, def: "", metavar: "EXPIRY", own: true,
			help: "Keep the job for minions that are away, until they are back or so much time has passed, such as 12h."},
	}
}
