package cli

import (
	"cmp"

	"github.com/brineproject/brine/config"
)

func optVersion() option {
	return option{names: "--version", kind: showVersion,
		help: "show program's version number and exit"}
}

func optVersionsReport() option {
	return option{names: "-V --versions-report", dest: "versions_report", kind: boolean,
		help: "Show program's dependencies version number and exit."}
}

func optHelp() option {
	return option{names: "-h --help", kind: showHelp, help: "show this help message and exit"}
}

func optSaltfile() option {
	return option{names: "--saltfile", dest: "saltfile",
		help: "Specify the path to a Saltfile. If not passed, one will be searched for in the current working " +
			"directory."}
}

func optConfigDir(env environ) option {
	return option{names: "-c --config-dir", dest: "config_dir",
		def:  cmp.Or(env("SALT_CONFIG_DIR"), config.DefaultDir()),
		help: "Pass in an alternative configuration directory. Default: '%default'."}
}

func optModuleExecutors() option {
	return option{names: "--module-executors", dest: "module_executors", metavar: "EXECUTOR_LIST",
		help: "Set an alternative list of executors to override the one set in minion config."}
}

func optExecutorOpts() option {
	return option{names: "--executor-opts", dest: "executor_opts", metavar: "EXECUTOR_OPTS",
		help: "Set alternate executor options if supported by executor. Options set by minion config are used " +
			"by default."}
}

func optTimeout() option {
	return option{names: "-t --timeout", dest: "timeout", kind: integer, def: int64(5),
		help: "Change the timeout, if applicable, for the running command (in seconds). Default: %default."}
}

func optArgsStdin() option {
	return option{names: "--args-stdin", dest: "args_stdin", kind: boolean, def: false,
		help: "Read additional options and/or arguments from stdin. Each entry is newline separated."}
}

func optHardCrash(env environ) option {
	return option{names: "--hard-crash", dest: "hard_crash", kind: boolean, def: hardCrash(env),
		help: "Raise any original exception rather than exiting gracefully. Default: %default."}
}

func optNoParse(env environ) option {
	return option{names: "--no-parse", dest: "no_parse", def: env("SALT_NO_PARSE"),
		metavar: "argname1,argname2,...",
		help: "Comma-separated list of named CLI arguments (i.e. argname=value) which should not be parsed as " +
			"Python data types"}
}

func optDoc() option {
	return option{names: "-d --doc --documentation", dest: "doc", kind: boolean, def: false,
		help: "Return the documentation for the specified module or for all modules if none are specified."}
}

func optStateOutputDiff() option {
	return option{names: "--output-diff", dest: "state_output_diff", kind: boolean, def: false,
		help: "Report only those states that have changed."}
}

func optSkipGrains() option {
	return option{names: "--skip-grains", dest: "skip_grains", kind: boolean, def: false,
		help: "Do not load grains."}
}

func optUser(prog string) option {
	return option{names: "-u --user", dest: "user", help: "Specify user to run " + prog + "."}
}

func optDaemon(prog string) option {
	return option{names: "-d --daemon", dest: "daemon", kind: boolean, def: false,
		help: "Run the " + prog + " as a daemon."}
}

// optCheckConfig is an option of Brine, not of Salt.
func optCheckConfig() option {
	return option{names: "--check-config", dest: "check_config", kind: boolean,
		def: false, own: true,
		help: "Show every option with the line that set it, and the errors in the configuration, and exit."}
}

// optDisableKeepalive is an option of Salt since 3006.18, where a daemon watches its worker process. Brine
// restarts parts within one process, so that the option has no effect.
func optDisableKeepalive() option {
	return option{names: "--disable-keepalive", dest: "disable_keepalive", kind: boolean,
		def:  false,
		help: "Taken for the sake of Salt's units; there is no second process that starts the daemon again."}
}

func optPidfile(prog string) option {
	return option{names: "--pid-file", dest: "pidfile", def: "/var/run/" + prog + ".pid",
		help: "Specify the location of the pidfile. Default: '%default'."}
}
