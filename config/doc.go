// Package config knows the options of master and minion: Salt's names, types and defaults, the files they are read from
// and how they are checked.
//
// LoadMaster and LoadMinion read DIR/master or DIR/minion and the fragments that these include, check every option
// and return a struct with a field for each option that Brine itself reads:
//
//	m, report, err := config.LoadMaster("/etc/salt", os.Getenv)
//
// A file that does not exist leaves the defaults. A value of the wrong type or out of range is an *Error that names file,
// line and option and says what was expected and given; an unknown option is kept and warned about with the name that
// was probably meant. Report.Sources says where each option was set.
//
// Modules, templates and other minions' tools read any option: Map gives all of them in Salt's form (`opts`), with the
// options that nobody knows. In the structs times are time.Duration, whatever unit Salt's option has; in Map they keep
// Salt's numbers. The facts are those of salt/config/__init__.py of Salt 3006 to 3008.
package config
