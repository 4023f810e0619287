package cli

func cpProgram(env environ) *program {
	return &program{name: "salt-cp", usage: "%prog [options] '<target>' SOURCE DEST",
		description: "salt-cp is NOT intended to broadcast large files, it is intended to handle text\nfiles. salt-cp " +
			"can be used to distribute configuration files.",
		groups: []group{
			{options: cpTable(env)},
			plainTargetGroup(),
			additionalTargetGroup(),
			outputGroup("salt-cp"),
			fileGroup(),
			loggingGroup("log_file", "/var/log/salt/master"),
		},
	}
}

func cpTable(env environ) []option {
	return []option{
		optVersion(),
		optVersionsReport(),
		optHelp(),
		optSaltfile(),
		optConfigDir(env),
		optTimeout(),
		optHardCrash(env),
	}
}

func fileGroup() group {
	return group{title: "File Options", options: []option{
		{names: "-C --chunked", dest: "chunked", kind: boolean, def: false,
			help: "Use chunked files transfer. Supports big files, recursive lookup and directories creation."},
		{names: "-n --no-compression", dest: "gzip", kind: negated, def: true,
			help: "Disable gzip compression."},
	}}
}

// plainTargetGroup holds the kinds of target that all programs with targets support.
func plainTargetGroup() group {
	g := targetGroup()
	g.options = g.options[:7]
	return g
}
