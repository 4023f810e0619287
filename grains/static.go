package grains

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/yaml"
)

// File returns the path of the grains file of a minion with that configuration file or directory
// (salt/grains/extra.py, config).
func File(confFile string) string {
	if st, err := os.Stat(confFile); err == nil && st.IsDir() {
		return filepath.Join(confFile, "grains")
	}
	return filepath.Join(filepath.Dir(confFile), "grains")
}

// grainsFile returns the contents of the grains file; a file that is not a map has none.
func (c *collection) grainsFile(context.Context) *data.Map {
	if c.o.ConfFile == "" {
		return nil
	}
	path := File(c.o.ConfFile)
	src, err := (&host{}).read(path)
	if err != nil {
		return nil
	}
	v, err := yaml.Load(src, yaml.Options{})
	if err != nil {
		c.o.Log.WithError(err).WithField("file", path).Warn("Bad syntax in grains file! Skipping.")
		return nil
	}
	m, _ := v.(*data.Map)
	return m
}

// options returns the whole configuration if grain_opts is set (salt/grains/opts.py).
func (c *collection) options(context.Context) *data.Map {
	if !c.option("grain_opts", false) {
		return nil
	}
	return data.Clone(c.o.Opts).(*data.Map)
}

func (c *collection) id(context.Context) *data.Map {
	return data.NewMap("id", c.o.Opts.Text("id"))
}

// master returns the option master, text or list.
func (c *collection) master(context.Context) *data.Map {
	v, ok := c.o.Opts.Get("master")
	if !ok {
		v = ""
	}
	return data.NewMap("master", data.Clone(v))
}

func (c *collection) appendDomain(context.Context) *data.Map {
	v, ok := c.o.Opts.Get("append_domain")
	if !ok {
		return nil
	}
	return data.NewMap("append_domain", v)
}

// A blacklist holds the globs and regular expressions of grains that are left out.
type blacklist struct {
	globs []*match.Glob
	exprs []*match.Regexp
}

// newBlacklist reads the option grains_blacklist. An entry is a glob and, if it is a valid one,
// also a regular expression that matches the whole name (salt/utils/stringutils.py, expr_match).
// The error names entries that are not text.
func newBlacklist(v any) (b blacklist, err error) {
	list, _ := v.([]any)
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			err = fmt.Errorf("grains_blacklist: %s is not text", data.Repr(e))
			continue
		}
		b.globs = append(b.globs, match.CompileGlob(s))
		if re, badRegexp := match.CompileRegexp(`\A` + s + `\Z`); badRegexp == nil {
			b.exprs = append(b.exprs, re)
		}
	}
	return b, err
}

func (b blacklist) has(name string) bool {
	for _, g := range b.globs {
		if g.Match(name) {
			return true
		}
	}
	for _, re := range b.exprs {
		if re.Match(name) {
			return true
		}
	}
	return false
}

// filter removes the names of the list from m.
func (b blacklist) filter(m *data.Map) *data.Map {
	if len(b.globs) == 0 || m == nil {
		return m
	}
	for _, k := range m.Keys() {
		if name, ok := k.(string); ok && b.has(name) {
			m.Delete(k)
		}
	}
	return m
}
