package brine

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/sources"
)

const module = "github.com/brineproject/brine/"

// layers defines which package may import which: only packages of its own layer and of those below.
// A name that ends in a slash stands for everything below that directory.
var layers = [][]string{
	0: {
		"data", "job", "yaml", "jinja", "version", "internal/accounts", "internal/atomicfile",
		"internal/clock", "internal/dacl", "internal/difflib", "internal/loglimit", "internal/mysqltls",
		"internal/paths",
		"internal/pbes2", "internal/pep440", "internal/pgverifier", "internal/pyjson", "internal/pyrandom",
		"internal/test/freeport",
	},
	1: {"payload", "payload/", "crypto", "pki", "pki/", "match", "output", "config",
		"internal/crontab", "internal/pwhash"},
	2: {
		"transport", "transport/", "eventbus", "cache", "cache/", "loader", "loader/", "process",
		"daemon", "logging", "internal/cobbler", "internal/consul", "internal/gpg", "internal/pylibrary",
		"internal/rest", "internal/s3", "internal/systemd", "internal/unpack", "internal/xmlrpc",
		"program", "python",
	},
	3: {"channel", "fileserver", "fileserver/", "fileclient", "fileclient/"},
	4: {
		"auth", "auth/", "beacons", "cluster", "cluster/", "engines", "engines/sink", "grains", "pillar",
		"pillar/saltclass",
		"pillar/shellglob", "pillar/sqltree", "reactor", "render", "render/", "returners", "returners/record",
		"returners/report", "returners/returnertest", "returners/sqlcache", "runners",
		"schedule", "serializers", "serializers/", "state", "state/", "tops", "master/batch",
		"master/metrics", "master/mine", "master/presence", "master/queue", "master/syndics",
		"internal/certificate", "internal/certificate/", "internal/docker", "internal/docker/",
		"internal/extmods", "internal/ipsets",
		"internal/netconf", "internal/nfsexports",
		"internal/packages", "internal/packages/", "internal/services", "internal/vault", "modules/calls",
	},
	5: {"modules/", "states/", "runners/", "wheel/", "returners/", "beacons/", "engines/",
		"pillar/sources/", "sdb",
		"sdb/"},
	6: {"modules", "states", "wheel", "master", "minion", "syndic", "client", "netapi", "netapi/", "console",
		"internal/swarm"},
	7: {"cli", "cli/", "cmd/", "internal/", "packaging"},
}

// standardOnly lists packages that may import only the standard library and the named packages.
var standardOnly = map[string][]string{
	"data": nil, "job": nil, "jinja": nil, "version": nil, "internal/accounts": nil,
	"internal/atomicfile": nil, "internal/clock": nil, "internal/difflib": nil,
	"internal/loglimit": nil, "internal/paths": nil,
	"internal/pep440": nil, "internal/pgverifier": nil, "internal/pyjson": nil, "internal/pyrandom": nil,
	"yaml": {"go.yaml.in/yaml/v4"},
}

// shelves are directories of plug-ins. Plug-ins never import each other; only a shelf's package
// standard, the package at its root, or returners/opener imports them.
var shelves = []string{"modules/", "states/", "runners/", "wheel/", "returners/", "beacons/",
	"engines/", "pillar/sources/", "sdb/"}

// onlyHere lists outside packages and the only packages that may import them.
var onlyHere = map[string][]string{
	"github.com/go-zeromq/zmq4": {"transport/zeromq"},
	"github.com/urfave/cli/v2":  {"cli/flags/urfave", "cli/saltswarm"},
	"modernc.org/sqlite":        {"returners/", "runners/queue", "pillar/sources/", "sdb/sqlite3"},
	"github.com/go-sql-driver/mysql": {"cache/mysql", "returners/", "pillar/sources/", "modules/mysql",
		"internal/test/testdb"},
	"github.com/jackc/pgx/v5": {"pillar/sources/"},
	"github.com/lib/pq":       {"returners/"},
	"github.com/redis/go-redis/v9": {"returners/", "cache/", "modules/redis", "pillar/sources/",
		"sdb/redis"},
	"github.com/ugorji/go/codec":    {"payload/typed"},
	"github.com/thejerf/suture/v4":  {"daemon"},
	"github.com/robfig/cron/v3":     {"schedule"},
	"github.com/BurntSushi/toml":    {"render"},
	"github.com/dlclark/regexp2":    {"match"},
	"github.com/go-ldap/ldap/v3":    {"auth/ldap", "pillar/sources/ldap"},
	"github.com/tg123/go-htpasswd":  {"auth/file"},
	"github.com/chromedp":           {"internal/test/browser"},
	"github.com/go-git/go-git/v5":   {"fileserver/gitfs"},
	"github.com/go-git/go-billy/v5": {"fileserver/gitfs"},
	"github.com/coreos/go-oidc/v3":  {"netapi/oidc"},
	"golang.org/x/oauth2":           {"netapi/oidc"},
	"github.com/nats-io":            {"cluster", "engines/natssink", "internal/test/testnats"},
	"github.com/eclipse":            {"engines/mqttsink"},
	"github.com/twmb/franz-go":      {"engines/kafkasink"},
	"github.com/klauspost/compress": {"payload/compress"},
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func TestLayers(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if p.ImportPath+"/" == module {
			continue
		}
		layer := layerOf(name)
		if layer < 0 {
			t.Errorf("package %s stands in no layer of the table", name)
			continue
		}
		for _, imp := range p.Imports {
			checkImport(t, name, layer, imp)
		}
	}
}

func checkImport(t *testing.T, name string, layer int, imp string) {
	t.Helper()
	own, ours := strings.CutPrefix(imp, module)
	switch {
	case ours && layerOf(own) > layer:
		t.Errorf("%s (layer %d) imports %s (layer %d)", name, layer, own, layerOf(own))
	case ours && crossesShelf(name, own):
		t.Errorf("%s imports %s: plug-ins call one another by name through loader.Env", name, own)
	case !ours:
		checkOutside(t, name, imp)
	}
}

func checkOutside(t *testing.T, name, imp string) {
	t.Helper()
	if allowed, ok := standardOnly[name]; ok && outside(imp) && !hasPrefix(imp, allowed) {
		t.Errorf("%s imports %s; it may use the standard library only", name, imp)
	}
	for lib, rooms := range onlyHere {
		if (imp == lib || strings.HasPrefix(imp, lib+"/")) && !hasPrefix(name, rooms) {
			t.Errorf("%s imports %s, which belongs in %v", name, imp, rooms)
		}
	}
}

func crossesShelf(name, imp string) bool {
	if strings.HasSuffix(name, "/standard") || name == "returners/opener" {
		return false
	}
	for _, a := range shelves {
		for _, b := range shelves {
			// what the plug-ins of a shelf share is in a layer below
			plugin := strings.HasPrefix(imp, b) && layerOf(imp) >= layerOf(b)
			if plugin && strings.HasPrefix(name, a) && !sameShelfHelper(name, imp) {
				return true
			}
		}
	}
	return false
}

// sameShelfHelper reports whether imp is a sub-package of the plug-in.
func sameShelfHelper(name, imp string) bool { return strings.HasPrefix(imp, name+"/") }

func layerOf(name string) int {
	for i, layer := range layers {
		for _, room := range layer {
			if name == room || strings.HasSuffix(room, "/") && strings.HasPrefix(name, room) {
				return i
			}
		}
	}
	return -1
}

func outside(imp string) bool { return strings.Contains(strings.Split(imp, "/")[0], ".") }

func hasPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if s == p || strings.HasPrefix(s, strings.TrimSuffix(p, "/")+"/") {
			return true
		}
	}
	return false
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = sources.Root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("read go list: %v", err)
		}
		all = append(all, p)
	}
}
