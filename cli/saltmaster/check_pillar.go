package saltmaster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
	stdsources "github.com/brineproject/brine/pillar/sources/standard"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
	"github.com/brineproject/brine/tops"
)

// wrongPillars looks at the external pillars. One that is not there would leave minions without what they need.
func wrongPillars(cfg *config.Master) error {
	opts := cfg.Map()
	option := opts.Value("ext_pillar")
	list, ok := option.([]any)
	if !ok && option != nil {
		return config.Expected("a list of external pillars", option, "write - cmd_yaml: /usr/local/bin/pillar %s")
	}
	var errs []error
	for i, v := range list {
		entry := config.Entry{Index: i, Value: v}
		m, ok := v.(*data.Map)
		if !ok || m.Len() == 0 {
			errs = append(errs, config.Below(entry, config.Expected("the name of an external pillar with its arguments", v, "write - NAME: ARGUMENTS")))
			continue
		}
		for name, argument := range m.All() {
			errs = append(errs, config.Below(entry, wrongPillar(data.Str(name), argument, opts)))
		}
	}
	return errors.Join(errs...)
}

// wrongPillar looks at one external pillar. What it does not like in its arguments it will tell minions too, as in Salt.
func wrongPillar(name string, argument any, opts *data.Map) error {
	sources := stdsources.Sources()
	i := slices.IndexFunc(sources, func(s pillar.Source) bool { return s.Name() == name })
	if i < 0 {
		return noPillar(name, sources)
	}
	c, ok := sources[i].(pillar.Checker)
	if !ok {
		return nil
	}
	if err := c.Check(argument, opts); err != nil {
		return config.Doubt(config.Below(name, &config.Finding{Text: err.Error()}))
	}
	return nil
}

func noPillar(name string, sources []pillar.Source) *config.Finding {
	var there []string
	for _, s := range sources {
		there = append(there, s.Name())
	}
	return config.NoSuch("external pillar", name, there, foreignPillars(),
		"Use one of them (cmd_json and cmd_yaml take what a program prints, in any language), or remove the entry")
}

// foreignPillars are the external pillars that only Salt has (salt/pillar).
func foreignPillars() []string {
	return []string{"azureblob", "cobbler", "confidant", "consul_pillar", "digicert", "django_orm", "ec2_pillar", "etcd_pillar", "extra_minion_data_in_pillar",
		"foreman", "git", "gpg", "hg_pillar", "hiera", "http_json", "http_yaml", "libvirt", "makostack", "mongo", "mysql", "nacl", "netbox", "neutron",
		"nsot", "pepa", "pillar_ldap", "postgres", "puppet", "reclass", "reclass_adapter", "redismod", "rethinkdb_pillar", "s3", "saltclass", "sql_base", "sqlcipher",
		"sqlite3", "stack", "svn_pillar", "varstack_pillar", "vault", "venafi", "virtkey", "vmware_pillar"}
}

// wrongDemands looks at what minions may ask for. The default names what is not there, and is not told of.
func wrongDemands(cfg *config.Master) error {
	names := data.TextsOf(cfg.Map().Value("on_demand_ext_pillar"))
	sources := stdsources.Sources()
	var errs []error
	for i, name := range names {
		known := slices.ContainsFunc(sources, func(s pillar.Source) bool { return s.Name() == name })
		if !known && name != "libvirt" && name != "virtkey" {
			errs = append(errs, config.Below(config.Entry{Index: i, Value: name}, noPillar(name, sources)))
		}
	}
	return config.Doubt(errors.Join(errs...))
}

func wrongPillarCache(cfg *config.Master) error {
	switch backend := cfg.Map().Text("pillar_cache_backend"); backend {
	case "disk", "memory":
		return nil
	default:
		return config.NoSuch("backend of pillar_cache", backend, []string{"disk", "memory"}, nil)
	}
}

// wrongStrategy looks for a name that means recurse, as in Salt, and was not meant so.
func wrongStrategy(cfg *config.Master) error {
	there := []string{"aggregate", "list", "none", "overwrite", "recurse", "smart"}
	name := cfg.Map().Text("pillar_source_merging_strategy")
	if slices.Contains(there, name) {
		return nil
	}
	return config.Doubt(config.NoSuch("strategy of merging", name, there, nil))
}

// wrongPipe looks for renderers that are not there.
func wrongPipe(pipe string) error {
	var there []string
	for _, r := range stdrender.Renderers() {
		there = append(there, r.Name())
	}
	var errs []error
	for _, stage := range render.ParsePipe(pipe) {
		if !slices.Contains(there, stage.Name) {
			errs = append(errs, config.NoSuch("renderer", stage.Name, there, []string{"py", "pyobjects", "pydsl", "mako", "cheetah", "genshi", "wempy"}))
		}
	}
	return errors.Join(errs...)
}

// wrongTops looks at the systems of master_tops. One that is not there is left out, as in Salt.
func wrongTops(cfg *config.Master) error {
	option := cfg.Map().Value("master_tops")
	m, ok := option.(*data.Map)
	if !ok && option != nil && data.Truth(option) {
		return config.Expected("a mapping of systems to what they need", option, "write master_tops: {ext_nodes: /usr/local/bin/nodes}")
	}
	var errs []error
	for name, v := range m.All() {
		errs = append(errs, config.Below(name, wrongTop(data.Str(name), v)))
	}
	return errors.Join(errs...)
}

func wrongTop(name string, v any) error {
	var there []string
	for _, s := range tops.Sources() {
		there = append(there, s.Name())
		if s.Name() == name {
			if err := s.Check(v); err != nil {
				return &config.Finding{Text: fmt.Sprint(err)}
			}
			return nil
		}
	}
	return config.Doubt(config.NoSuch("system of master_tops", name, there, []string{"cobbler", "mongo", "reclass", "reclass_adapter", "saltclass", "varstack", "varstack_top"}))
}
