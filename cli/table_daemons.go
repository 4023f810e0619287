package cli

func masterProgram(env environ) *program {
	return &program{name: "salt-master", usage: "%prog [options]",
		description: "The Salt Master, used to control the Salt Minions",
		groups: []group{
			{options: daemonTable("salt-master", env)},
			loggingGroup("log_file", "/var/log/salt/master"),
		},
	}
}

func minionProgram(env environ) *program {
	return &program{name: "salt-minion", usage: "%prog [options]",
		description: "The Salt Minion, receives commands from a remote Salt Master",
		groups: []group{
			{options: daemonTable("salt-minion", env)},
			loggingGroup("log_file", "/var/log/salt/minion"),
		},
	}
}

func syndicProgram(env environ) *program {
	return &program{name: "salt-syndic", usage: "%prog [options]",
		description: "The Salt Syndic daemon, a special Minion that passes through commands from a\nhigher Master. " +
			"Scale Salt to thousands of hosts or across many different networks.",
		groups: []group{
			{options: daemonTable("salt-syndic", env)},
			syndicLoggingGroup(),
		},
	}
}

// apiProgram has neither a Saltfile nor a user of its own, as in Salt: it runs as the master's.
func apiProgram(env environ) *program {
	return &program{name: "salt-api", usage: "%prog [options]",
		description: "The Salt API system manages network API connectors for the Salt Master",
		groups: []group{
			{options: []option{
				optVersion(),
				optVersionsReport(),
				optHelp(),
				optConfigDir(env),
				optDaemon("salt-api"),
				optPidfile("salt-api"),
				optDisableKeepalive(),
				optCheckConfig(),
				{names: "--console", dest: "console", kind: boolean, own: true,
					help: "Serve the console, a web page for people, at /console. Without a section rest_cherrypy it is on port 8000 of 127.0.0.1."},
			}},
			loggingGroup("api_logfile", "/var/log/salt/api"),
		},
	}
}

func daemonTable(prog string, env environ) []option {
	return []option{
		optVersion(),
		optVersionsReport(),
		optHelp(),
		optSaltfile(),
		optConfigDir(env),
		optUser(prog),
		optDaemon(prog),
		optPidfile(prog),
		optDisableKeepalive(),
		optCheckConfig(),
	}
}

func syndicLoggingGroup() group { return loggingGroup("syndic_log_file", "/var/log/salt/syndic") }
