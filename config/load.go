package config

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
)

// load returns the effective options of a role. The error joins all faults; opts are usable as far
// as possible.
func load(
	r role, dir string, env func(string) string, h host,
) (opts, set *data.Map, report *Report, err error) {
	return loadOver(r, dir, env, h, nil)
}

// loadOver is load with the options of another role that replace this one's; nil means none.
func loadOver(
	r role, dir string, env func(string) string, h host, over *override,
) (opts, set *data.Map, report *Report, err error) {
	if env == nil {
		env = func(string) string { return "" }
	}
	report = &Report{Sources: map[string]Origin{}}
	s := &source{env: env, report: report}
	defaults := known().defaults(r)
	main, override := mainFile(r, dir, env)
	set = s.overrides(main, override, defaults)
	s.check(set)
	over.apply(set, report)
	opts = defaults
	if opts.Value("conf_file") != nil {
		opts.Set("conf_file", main)
	}
	a := &assembly{role: r, opts: opts, set: set, report: report, env: env, host: h}
	a.run()
	return opts, set, report, errors.Join(s.faults...)
}

// mainFile returns the file of a role, and the file to read instead of it: SALT_MASTER_CONFIG or
// SALT_MINION_CONFIG, unless another directory than the default was requested
// (salt.config.load_config).
func mainFile(r role, dir string, env func(string) string) (main, override string) {
	if dir == "" {
		dir = env("SALT_CONFIG_DIR")
	}
	if dir == "" {
		dir = DefaultDir()
	}
	main = filepath.Join(dir, string(r))
	name := map[role]string{masterRole: "SALT_MASTER_CONFIG", minionRole: "SALT_MINION_CONFIG"}[r]
	file := env(name)
	if file == "" || filepath.Clean(dir) != DefaultDir() {
		return main, ""
	}
	if info, err := os.Stat(file); err != nil || info.IsDir() {
		return main, ""
	}
	return main, file
}
