package cli

func additionalTargetGroup() group {
	return group{title: "Additional Target Options",
		description: "Additional options for minion targeting.", options: []option{
			{names: "--delimiter", dest: "delimiter", def: ":",
				help: "Change the default delimiter for matching in multi-level data structures. Default: '%default'."},
		}}
}

func outputGroup(prog string) group {
	return group{title: "Output Options", description: "Configure your preferred output format.",
		options: []option{
			{names: "--out --output", dest: "output",
				help: "Print the output from the '" + prog +
					"' command using the specified outputter."},
			{names: "--out-indent --output-indent", dest: "output_indent", kind: integer,
				help: "Print the output indented by the provided value in spaces. Negative values disables " +
					"indentation. Only applicable in outputters that support indentation."},
			{names: "--out-file --output-file", dest: "output_file",
				help: "Write the output to the specified file."},
			{names: "--out-file-append --output-file-append", dest: "output_file_append",
				kind: boolean, def: false,
				help: "Append the output to the specified file."},
			{names: "--no-color --no-colour", dest: "no_color", kind: boolean, def: false,
				help: "Disable all colored output."},
			{names: "--force-color --force-colour", dest: "force_color", kind: boolean, def: false,
				help: "Force colored output."},
			{names: "--state-output --state_output", dest: "state_output",
				help: "Override the configured state_output value for minion output. One of 'full', 'terse', 'mixed', " +
					"'changes' or 'filter'. Default: '%default'."},
			{names: "--state-verbose --state_verbose", dest: "state_verbose",
				help: "Override the configured state_verbose value for minion output. Set to True or False. Default: " +
					"%default."},
		}}
}

func profilingGroup() group {
	return group{title: "Profiling support", options: []option{
		{names: "--profiling-path", dest: "profiling_path", def: "/tmp/stats",
			help: "Folder that will hold all stats generations path. Default: '%default'."},
		{names: "--enable-profiling", dest: "profiling_enabled", kind: boolean, def: false,
			help: "Enable generating profiling stats. See also: --profiling-path."},
	}}
}

func targetGroup() group {
	return group{title: "Target Options", description: "Target selection options.",
		options: []option{
			{names: "-H --hosts", dest: "list_hosts", kind: boolean, def: false,
				help: "List all known hosts to currently visible or other specified rosters"},
			{names: "-E --pcre", dest: "pcre", kind: boolean, def: false,
				help: "Instead of using shell globs to evaluate the target servers, use pcre regular expressions."},
			{names: "-L --list", dest: "list", kind: boolean, def: false,
				help: "Instead of using shell globs to evaluate the target servers, take a comma or whitespace " +
					"delimited list of servers."},
			{names: "-G --grain", dest: "grain", kind: boolean, def: false,
				help: "Instead of using shell globs to evaluate the target use a grain value to identify targets, the " +
					"syntax for the target is the grain key followed by a globexpression: \"os:Arch*\"."},
			{names: "-P --grain-pcre", dest: "grain_pcre", kind: boolean, def: false,
				help: "Instead of using shell globs to evaluate the target use a grain value to identify targets, the " +
					"syntax for the target is the grain key followed by a pcre regular expression: \"os:Arch.*\"."},
			{names: "-N --nodegroup", dest: "nodegroup", kind: boolean, def: false,
				help: "Instead of using shell globs to evaluate the target use one of the predefined nodegroups to " +
					"identify a list of targets."},
			{names: "-R --range", dest: "range", kind: boolean, def: false,
				help: "Instead of using shell globs to evaluate the target use a range expression to identify targets. " +
					"Range expressions look like %cluster."},
			{names: "-C --compound", dest: "compound", kind: boolean, def: false,
				help: "The compound target option allows for multiple target types to be evaluated, allowing for " +
					"greater granularity in target matching. The compound target is space delimited, targets other " +
					"than globs are preceded with an identifier matching the specific targets argument type: salt " +
					"'G@os:RedHat and webser* or E@database.*'."},
			{names: "-I --pillar", dest: "pillar_target", kind: boolean, def: false,
				help: "Instead of using shell globs to evaluate the target use a pillar value to identify targets, the " +
					"syntax for the target is the pillar key followed by a glob expression: \"role:production*\"."},
			{names: "-J --pillar-pcre", dest: "pillar_pcre", kind: boolean, def: false,
				help: "Instead of using shell globs to evaluate the target use a pillar value to identify targets, the " +
					"syntax for the target is the pillar key followed by a pcre regular expression: \"role:prod.*\"."},
			{names: "-S --ipcidr", dest: "ipcidr", kind: boolean, def: false,
				help: "Match based on Subnet (CIDR notation) or IP address."},
		}}
}

func authGroup() group {
	return group{title: "External Authentication", options: []option{
		{names: "-a --auth --eauth --external-auth", dest: "eauth", def: "",
			help: "Specify an external authentication system to use."},
		{names: "-T --make-token", dest: "mktoken", kind: boolean, def: false,
			help: "Generate and save an authentication token for re-use. The token is generated and made available " +
				"for the period defined in the Salt Master."},
		{names: "--username", dest: "username", help: "Username for external authentication."},
		{names: "--password", dest: "password", help: "Password for external authentication."},
	}}
}

// insecureLevels is Salt's text in the help on levels of the log, with its white space.
const insecureLevels = " \n The following log levels are INSECURE and may log sensitive data: " +
	"all, debug, garbage, profile, trace"

func loggingGroup(dest, file string) group {
	return group{title: "Logging Options",
		description: "Logging options which override any settings defined on the configuration files.", options: []option{
			{names: "-l --log-level", dest: "log_level", kind: choice, choices: levelsInErrors(),
				help: "Console logging log level. One of 'all', 'garbage', 'trace', 'debug', 'profile', 'info', " +
					"'warning', 'error', 'critical', 'quiet'. Default: 'warning'." + insecureLevels},
			{names: "--log-file", dest: dest, kind: logFile, help: "Log file path. Default: '" +
				file + "'."},
			{names: "--log-file-level", dest: "log_level_logfile", kind: choice,
				choices: levelsByWeight(),
				help: "Logfile logging log level. One of 'all', 'garbage', 'trace', 'debug', 'profile', 'info', " +
					"'warning', 'error', 'critical', 'quiet'. Default: 'warning'." + insecureLevels},
		}}
}
