// Package config is Salt's module config: it looks up settings in the minion's options, grains and
// pillar (salt/modules/config.py).
//
// All lookups search the same places in the same order: options, grains, pillar, the master's
// options in the pillar (pillar_opts), and some defaults that Salt has for its modules. As in Salt,
// the options have the keys grains and pillar, so that config.get grains:os works.
//
// As in Salt, config.get with merge ignores the omit parameters, and reads the option
// pillar_merge_lists from /etc/salt/master. A value sdb://profile/key is looked up if the profile
// names a driver; it is an error if this build does not have the driver. Differences from Salt:
// config.gather_bootstrap_script accepts the text of a script, with which Salt fails; config.merge
// does not change the pillar, as Salt's does.
package config

import (
	"context"
	"runtime"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module config.
func Plugin() loader.Plugin { return loader.Plugin{Name: "config", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("backup_mode", m.backupMode),
		loader.F("manage_mode", m.manageMode),
		loader.F("valid_fileproto", m.validFileproto),
		loader.F("option", m.option),
		loader.F("merge", m.merge),
		loader.F("get", m.get),
		loader.F("dot_vals", m.dotVals),
		loader.F("gather_bootstrap_script", m.gatherBootstrapScript),
		loader.F("items", m.items),
	}}, nil
}

// opts returns the options as functions see them: with the current grains and pillar.
func (m *module) opts() *data.Map {
	o := m.env.Opts.Clone()
	o.Set("grains", m.env.GrainsNow())
	o.Set("pillar", m.env.PillarNow())
	return o
}

// master returns the master's options if they are in the pillar.
func (m *module) master() *data.Map {
	master, _ := m.env.PillarNow().Value("master").(*data.Map)
	return master
}

// defaults returns the defaults of Salt's modules for unset options.
func defaults() *data.Map {
	hosts, images := "/etc/hosts", "/srv/salt-images"
	if runtime.GOOS == "windows" {
		hosts, images = `C:\Windows\System32\drivers\etc\hosts`, `C:\salt\srv\salt-images`
	}
	return data.NewMap(
		"mongo.db", "salt", "mongo.password", "", "mongo.port", int64(27017), "mongo.user", "",
		"redis.db", "0", "redis.host", "salt", "redis.port", int64(6379),
		"test.foo", "unconfigured", "ca.cert_base_path", "/etc/pki",
		"solr.cores", []any{}, "solr.host", "localhost", "solr.port", "8983", "solr.baseurl",
		"/solr", "solr.type", "master", "solr.request_timeout", nil, "solr.init_script",
		"/etc/rc.d/solr", "solr.dih.import_options", data.NewMap("clean", false, "optimize", true,
			"commit", true, "verbose", false),
		"solr.backup_path", nil, "solr.num_backups", int64(1),
		"poudriere.config", "/usr/local/etc/poudriere.conf", "poudriere.config_dir",
		"/usr/local/etc/poudriere.d", "ldap.uri", "", "ldap.server", "localhost", "ldap.port",
		"389", "ldap.tls", false, "ldap.no_verify", false, "ldap.anonymous", true, "ldap.scope",
		int64(2), "ldap.attrs", nil, "ldap.binddn", "", "ldap.bindpw", "", "hosts.file", hosts,
		"aliases.file", "/etc/aliases", "virt", data.NewMap("tunnel", false, "images", images),
		"docker.exec_driver", "docker-exec",
		"docker.compare_container_networks",
		data.NewMap("static", []any{"Aliases", "Links", "IPAMConfig"},
			"automatic", []any{"IPAddress", "Gateway", "GlobalIPv6Address", "IPv6Gateway"}),
	)
}

type backupModeArgs struct {
	Backup any `default:"''"`
}

// backupMode returns how files are backed up before they are changed: the argument, or else the
// option backup_mode.
//
// CLI Example:
//
//	salt '*' config.backup_mode
func (m *module) backupMode(_ context.Context, a backupModeArgs) (any, error) {
	if data.Truth(a.Backup) {
		return a.Backup, nil
	}
	return m.first("backup_mode", places{}, ""), nil
}

type manageModeArgs struct{ Mode any }

// manageMode returns a file mode as a string of four digits. None and the word keep are returned
// unchanged.
//
// CLI Example:
//
//	salt '*' config.manage_mode 644
func (m *module) manageMode(_ context.Context, a manageModeArgs) (any, error) {
	if a.Mode == nil {
		return nil, nil
	}
	mode := strings.ReplaceAll(data.Str(a.Mode), "0o", "0")
	mode = strings.TrimLeft(strings.Trim(strings.Trim(mode, `"`), "'"), "0")
	return zeroFilled(mode, 4), nil
}

// zeroFilled is Python's str.zfill: a sign stays in front.
func zeroFilled(s string, width int) string {
	sign := ""
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		sign, s = s[:1], s[1:]
	}
	return sign + strings.Repeat("0", max(width-len([]rune(s))-len(sign), 0)) + s
}

type validFileprotoArgs struct {
	URI any `name:"uri"`
}

// validFileproto returns whether a URI has a scheme from which files can be fetched.
//
// CLI Example:
//
//	salt '*' config.valid_fileproto salt://path/to/file
func (m *module) validFileproto(_ context.Context, a validFileprotoArgs) (any, error) {
	uri, ok := a.URI.(string)
	if !ok && data.Truth(a.URI) {
		return nil, loader.Exception("AttributeError", "'%s' object has no attribute 'decode'",
			loader.TypeName(a.URI))
	}
	uri = strings.TrimLeftFunc(uri, func(c rune) bool { return c <= ' ' })
	scheme, _, found := strings.Cut(strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(uri),
		":")
	if !found {
		return false, nil
	}
	switch strings.ToLower(scheme) {
	case "salt", "file", "http", "https", "ftp", "swift", "s3":
		return true, nil
	}
	return false, nil
}

type dotValsArgs struct{ Value any }

// dotVals returns the settings of the minion and the master whose names begin with the given name
// and a dot.
//
// CLI Example:
//
//	salt '*' config.dot_vals host
func (m *module) dotVals(_ context.Context, a dotValsArgs) (any, error) {
	found := data.NewMap()
	for _, from := range []*data.Map{m.master(), m.opts()} {
		for k, v := range from.All() {
			if name, ok := k.(string); ok && strings.HasPrefix(name, data.Str(a.Value)+".") {
				found.Set(k, v)
			}
		}
	}
	return found, nil
}

// items returns all options of the minion, including defaults.
//
// CLI Example:
//
//	salt '*' config.items
func (m *module) items(context.Context, loader.NoArgs) (any, error) { return m.opts(), nil }
