// Package config defines the options of master and minion: Salt's names, types and defaults, the
// files they are read from and how they are checked.
//
// LoadMaster and LoadMinion read DIR/master or DIR/minion and the files that these include, check
// every option, and return a struct with a field for each option that Brine itself reads:
//
//	m, report, err := config.LoadMaster("/etc/salt", os.Getenv)
//
// If a file does not exist, the defaults apply. A value of the wrong type or out of range is an
// *Error with the file, line and option, and with the expected and the given value. An unknown
// option is kept, with a warning that suggests the most similar known name. Report.Sources records
// where each option was set.
//
// Modules, templates and tools of other minions can read any option: Map returns all of them in
// Salt's form (`opts`), including unknown ones. In the structs, times are time.Duration, whatever
// unit Salt's option has; in Map they keep Salt's numbers. The facts are those of
// salt/config/__init__.py of Salt 3006 to 3008.
package config
