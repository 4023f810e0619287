// Package pillar compiles the pillar of a minion: what its top files give it, merged with external pillars and with what a
// command line adds.
//
// A Compiler is made once from the options and what they stand on. Compile works for one minion at a time:
//
//	c, err := pillar.New(pillar.Options{Opts: opts, Engine: engine, Sources: pillar.Sources()})
//	tree, err := c.Compile(ctx, pillar.Request{ID: "web1", Grains: grains, SaltEnv: "base"})
//
// What users wrote wrongly is no error of Compile: it stands in the list _errors of the pillar, in Salt's words, and the rest
// of the pillar is there. What an SLS that does not render says stays in the log, unless pillar_safe_render_error is false,
// since it may show secrets.
//
// A Source is an external pillar; sources are values in a list, as plug-ins are elsewhere.
//
// With Options.Keep, what the files of pillar_roots gave a minion is kept and given again when nothing has changed that it was made of:
// the request but for what external pillars get, the files that were read and the names of all files, the options. What
// came from elsewhere (see render.Watch) or had errors is compiled each time; external pillars are asked and secrets decrypted each time.
//
// The rules are those of salt/pillar/__init__.py (Pillar) and salt/utils/dictupdate.py (merge). What differs: what yamlex marks with !aggregate is joined
// among SLS, and not with an external pillar; environments
// are gone through in the order of pillar_roots, base first, where Salt takes them by chance; an included SLS that is no
// dictionary is left out with its message, where Salt's compilation ends with an exception; and maps are never changed
// by a merge, so that nothing has to be copied deeply for each SLS.
package pillar
