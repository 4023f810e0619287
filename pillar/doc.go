// Package pillar compiles the pillar of a minion from its top files, external pillars and overrides
// of a command line.
//
// A Compiler is made once from the options and its dependencies. Compile works for one minion at a
// time:
//
//	c, err := pillar.New(pillar.Options{Opts: opts, Engine: engine, Sources: pillar.Sources()})
//	tree, err := c.Compile(ctx, pillar.Request{ID: "web1", Grains: grains, SaltEnv: "base"})
//
// Errors in users' files are no error of Compile: the pillar's key _errors lists them in Salt's
// wording, and the rest of the pillar is present. Errors of an SLS that does not render are only in
// the log unless pillar_safe_render_error is false, because they may show secrets.
//
// A Source is an external pillar. Sources are passed as a list of values, like other plug-ins.
//
// With Options.Keep, a minion's results from the files of pillar_roots are cached. A cached result
// is used if nothing it depends on has changed: the request except for the data of external
// pillars, the files read and the names of all files, and the options. Results that depend on other
// data (see render.Watch) or have errors are compiled each time. External pillars are called and
// secrets decrypted each time.
//
// The rules are those of salt/pillar/__init__.py (Pillar) and salt/utils/dictupdate.py (merge).
// Differences: values that yamlex marks with !aggregate are joined among SLS, but not with an
// external pillar. Environments are processed in the order of pillar_roots, base first; Salt's
// order is random. An included SLS that is no dictionary is left out with its message, while Salt's
// compilation ends with an exception. Merging never changes its arguments, so that no deep copies
// are needed for each SLS.
package pillar
