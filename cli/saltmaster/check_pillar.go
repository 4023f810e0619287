package saltmaster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/brineproject/brine/cli/code"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
	stdsources "github.com/brineproject/brine/pillar/sources/standard"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
	"github.com/brineproject/brine/tops"
)

// checkPillars validates the external pillars. Without a missing one, minions would lack pillar
// data that they need.
func checkPillars(cfg *config.Master) error {
	option := cfg.Map().Value("ext_pillar")
	list, ok := option.([]any)
	if !ok && option != nil {
		return config.Expected("a list of external pillars", option,
			"write - cmd_yaml: /usr/local/bin/pillar %s")
	}
	var errs []error
	for i, v := range list {
		entry := config.Entry{Index: i, Value: v}
		m, ok := v.(*data.Map)
		if !ok || m.Len() == 0 {
			errs = append(errs, config.Below(entry,
				config.Expected("the name of an external pillar with its arguments", v,
					"write - NAME: ARGUMENTS")))
			continue
		}
		for name, argument := range m.All() {
			if !isOwnPillar(cfg, data.Str(name)) {
				errs = append(errs, config.Below(entry, checkPillar(cfg, data.Str(name), argument)))
			}
		}
	}
	return errors.Join(errs...)
}

// checkPillar validates one external pillar. As in Salt, it reports bad arguments again when a
// minion's pillar is compiled.
func checkPillar(cfg *config.Master, name string, argument any) error {
	sources := stdsources.Sources()
	i := slices.IndexFunc(sources, func(s pillar.Source) bool { return s.Name() == name })
	if i < 0 {
		return unknownPillar(cfg, name, sources)
	}
	c, ok := sources[i].(pillar.Checker)
	if !ok {
		return nil
	}
	if err := c.Check(argument, cfg.Map()); err != nil {
		return config.Doubt(config.Below(name, &config.Finding{Text: err.Error()}))
	}
	return nil
}

// isOwnPillar reports whether the external pillar of a name is users' own code.
func isOwnPillar(cfg *config.Master, name string) bool {
	listed := slices.ContainsFunc(stdsources.Sources(),
		func(s pillar.Source) bool { return s.Name() == name })
	return code.Has(cfg.Map(), "pillar", name, listed)
}

func unknownPillar(cfg *config.Master, name string, sources []pillar.Source) *config.Finding {
	there := code.Names(cfg.Map(), "pillar")
	for _, s := range sources {
		there = append(there, s.Name())
	}
	return config.NoSuch("external pillar", name, there, foreignPillars(),
		"Use one of them (cmd_json and cmd_yaml take what a program prints, in any language), or remove the entry")
}

// foreignPillars returns the external pillars that only Salt has (salt/pillar).
func foreignPillars() []string {
	return []string{"azureblob", "confidant", "digicert", "django_orm", "ec2_pillar", "git", "gpg",
		"hg", "http_json", "http_yaml", "makostack", "mongo", "mysql", "nacl", "neutron",
		"nsot", "pepa", "postgres", "redismod", "rethinkdb", "saltclass", "sql_base", "sqlcipher",
		"sqlite3", "stack", "svn", "vault", "venafi", "virtkey", "vmware_pillar"}
}

// checkOnDemand validates on_demand_ext_pillar, the pillars that minions may request. The default
// names virtkey, which is missing and not reported.
func checkOnDemand(cfg *config.Master) error {
	names := data.TextsOf(cfg.Map().Value("on_demand_ext_pillar"))
	sources := stdsources.Sources()
	var errs []error
	for i, name := range names {
		known := slices.ContainsFunc(sources,
			func(s pillar.Source) bool { return s.Name() == name })
		if !known && name != "virtkey" && !isOwnPillar(cfg, name) {
			errs = append(errs, config.Below(config.Entry{Index: i, Value: name},
				unknownPillar(cfg, name, sources)))
		}
	}
	return config.Doubt(errors.Join(errs...))
}

func checkPillarCache(cfg *config.Master) error {
	switch backend := cfg.Map().Text("pillar_cache_backend"); backend {
	case "disk", "memory":
		return nil
	default:
		return config.NoSuch("backend of pillar_cache", backend, []string{"disk", "memory"}, nil)
	}
}

// checkStrategy reports a misspelt merge strategy, which means recurse as in Salt.
func checkStrategy(cfg *config.Master) error {
	there := []string{"aggregate", "list", "none", "overwrite", "recurse", "smart"}
	name := cfg.Map().Text("pillar_source_merging_strategy")
	if slices.Contains(there, name) {
		return nil
	}
	return config.Doubt(config.NoSuch("strategy of merging", name, there, nil))
}

// checkPipe reports unknown renderers of an option.
func checkPipe(cfg *config.Master, option string) error {
	there := append(code.Names(cfg.Map(), "renderers"), "py")
	for _, r := range stdrender.Renderers() {
		there = append(there, r.Name())
	}
	var errs []error
	for _, stage := range render.ParsePipe(cfg.Map().Text(option)) {
		if !slices.Contains(there, stage.Name) {
			errs = append(errs, config.NoSuch("renderer", stage.Name, there,
				[]string{"pyobjects", "pydsl", "mako", "cheetah", "genshi", "wempy"}))
		}
	}
	return errors.Join(errs...)
}

// checkTops validates the systems of master_tops. As in Salt, an unknown one is left out.
func checkTops(cfg *config.Master) error {
	option := cfg.Map().Value("master_tops")
	m, ok := option.(*data.Map)
	if !ok && option != nil && data.Truth(option) {
		return config.Expected("a mapping of systems to what they need", option,
			"write master_tops: {ext_nodes: /usr/local/bin/nodes}")
	}
	var errs []error
	for name, v := range m.All() {
		errs = append(errs, config.Below(name, checkTop(cfg, data.Str(name), v)))
	}
	return errors.Join(errs...)
}

func checkTop(cfg *config.Master, name string, v any) error {
	there := code.Names(cfg.Map(), "tops")
	listed := slices.ContainsFunc(tops.Sources(), func(s tops.Source) bool { return s.Name() == name })
	if code.Has(cfg.Map(), "tops", name, listed) {
		return nil
	}
	for _, s := range tops.Sources() {
		there = append(there, s.Name())
		if s.Name() == name {
			if err := s.Check(v); err != nil {
				return &config.Finding{Text: fmt.Sprint(err)}
			}
			return nil
		}
	}
	return config.Doubt(config.NoSuch("system of master_tops", name, there,
		[]string{"mongo"}))
}
