// Package apache is Salt's states apache, apache_conf, apache_module and apache_site: configuration
// files of Apache's web server, and which of its parts are enabled (salt/states/apache.py and
// apache_*.py). They use the module apache.
//
// Difference from Salt: what is enabled or written is looked at again after a change.
package apache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type module struct{ env *loader.Env }

// Plugin returns the state apache.
func Plugin() loader.Plugin {
	return state("apache", "apache.config", func(m *module) []loader.Func {
		return []loader.Func{loader.F("configfile", m.configfile)}
	})
}

// Conf returns the state apache_conf.
func Conf() loader.Plugin {
	return state("apache_conf", "apache.a2enconf", func(m *module) []loader.Func {
		return []loader.Func{loader.F("enabled", m.confEnabled), loader.F("disabled", m.confDisabled)}
	})
}

// Module returns the state apache_module.
func Module() loader.Plugin {
	return state("apache_module", "apache.a2enmod", func(m *module) []loader.Func {
		return []loader.Func{loader.F("enabled", m.moduleEnabled), loader.F("disabled", m.moduleDisabled)}
	})
}

// Site returns the state apache_site.
func Site() loader.Plugin {
	return state("apache_site", "apache.a2ensite", func(m *module) []loader.Func {
		return []loader.Func{loader.F("enabled", m.siteEnabled), loader.F("disabled", m.siteDisabled)}
	})
}

// state returns a state that loads only if the module has a function.
func state(name, needs string, funcs func(m *module) []loader.Func) loader.Plugin {
	return loader.Plugin{Name: name, File: name, New: func(env *loader.Env) (*loader.Module, error) {
		if !env.Functions.Has(needs) {
			return nil, errors.New("apache module could not be loaded")
		}
		return &loader.Module{Funcs: funcs(&module{env})}, nil
	}}
}

type configArgs struct {
	Name   string
	Config any
}

// configfile keeps a configuration in a file.
//
// name
//
//	The path of the file. Its directory must be there.
//
// config
//
//	A list of dictionaries of one directive or section each. A section is a dictionary, or a list of
//	dictionaries, with what follows its name under the key this.
//
//	/etc/httpd/conf.d/website.com.conf:
//	  apache.configfile:
//	    - config:
//	      - VirtualHost:
//	          this: '*:80'
//	          ServerName:
//	            - website.com
//	          DocumentRoot: /var/www/vhosts/website.com
//	          Directory:
//	            this: /var/www/vhosts/website.com
//	            Require: all granted
func (m *module) configfile(ctx context.Context, a configArgs) (change.Result, error) {
	text, err := loader.CallAs[string](ctx, m.env, "apache.config", []any{a.Name, a.Config, false}, nil)
	if err != nil {
		return change.Result{}, err
	}
	file := filepath.Join(m.env.Root, a.Name)
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	return change.Thing[string]{
		Name: a.Name,
		Look: func(context.Context) (string, error) {
			text, err := os.ReadFile(file)
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return string(text), err
		},
		Wants: func(now string) *data.Map {
			return change.When(strings.TrimSpace(now) != strings.TrimSpace(text), change.OldNew(now, text))
		},
		Apply: func(context.Context, string) error {
			if err := atomicfile.Write(file, []byte(text+"\n"),
				atomicfile.Options{Mode: 0o644, KeepMode: true}); err != nil {
				return change.Reason("Failed to create apache configuration.")
			}
			return nil
		},
		Texts: change.Texts{
			Same:  "Configuration is up to date.",
			Would: "Configuration will update.",
			Done:  "Successfully created configuration.",
		},
	}.Ensure(ctx)
}

// A part is a kind of things that can be enabled.
type part struct{ word, check, enable, disable string }

func (m *module) ensure(ctx context.Context, p part, name string, enabled bool) (change.Result, error) {
	verb, done, fun := "enable", "enabled", p.enable
	changes := change.OldNew(nil, name)
	if !enabled {
		verb, done, fun, changes = "disable", "disabled", p.disable, change.OldNew(name, nil)
	}
	failed := "Failed to " + verb + " " + name + " Apache " + p.word
	return change.Thing[bool]{
		Name: name,
		Look: func(ctx context.Context) (bool, error) {
			return change.Ask[bool](ctx, m.env, "apache."+p.check, []any{name}, nil)
		},
		Wants: func(now bool) *data.Map { return change.When(now != enabled, changes) },
		Apply: func(ctx context.Context, _ bool) error {
			ret, err := change.Ask[*data.Map](ctx, m.env, "apache."+fun, []any{name}, nil)
			if err != nil {
				return err
			}
			switch status, isText := ret.Value("Status").(string); {
			case !isText:
				return change.Reason(failed)
			case !strings.Contains(status, done):
				return change.Reason(failed + " (" + status + ")")
			}
			return nil
		},
		Texts: change.Texts{
			Same:   name + " already " + done + ".",
			Would:  "Apache " + p.word + " " + name + " is set to be " + done + ".",
			Failed: failed,
		},
	}.Ensure(ctx)
}

type nameArgs struct{ Name string }

func conf() part { return part{"conf", "check_conf_enabled", "a2enconf", "a2disconf"} }

// confEnabled keeps a piece of configuration enabled. This is for Debian.
//
//	security:
//	  apache_conf.enabled
func (m *module) confEnabled(ctx context.Context, a nameArgs) (change.Result, error) {
	return m.ensure(ctx, conf(), a.Name, true)
}

// confDisabled keeps a piece of configuration disabled. This is for Debian.
//
//	security:
//	  apache_conf.disabled
func (m *module) confDisabled(ctx context.Context, a nameArgs) (change.Result, error) {
	return m.ensure(ctx, conf(), a.Name, false)
}

func mod() part { return part{"module", "check_mod_enabled", "a2enmod", "a2dismod"} }

// moduleEnabled keeps a module of the web server enabled. This is for Debian and SUSE.
//
//	cgi:
//	  apache_module.enabled
func (m *module) moduleEnabled(ctx context.Context, a nameArgs) (change.Result, error) {
	return m.ensure(ctx, mod(), a.Name, true)
}

// moduleDisabled keeps a module of the web server disabled. This is for Debian and SUSE.
//
//	cgi:
//	  apache_module.disabled
func (m *module) moduleDisabled(ctx context.Context, a nameArgs) (change.Result, error) {
	return m.ensure(ctx, mod(), a.Name, false)
}

func site() part { return part{"site", "check_site_enabled", "a2ensite", "a2dissite"} }

// siteEnabled keeps a site enabled. This is for Debian.
//
//	example.com:
//	  apache_site.enabled
func (m *module) siteEnabled(ctx context.Context, a nameArgs) (change.Result, error) {
	return m.ensure(ctx, site(), a.Name, true)
}

// siteDisabled keeps a site disabled. This is for Debian.
//
//	000-default:
//	  apache_site.disabled
func (m *module) siteDisabled(ctx context.Context, a nameArgs) (change.Result, error) {
	return m.ensure(ctx, site(), a.Name, false)
}
