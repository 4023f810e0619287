package vault

import (
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
)

// A KV holds the paths of a secret. With version 1 of the key-value store all are the same and
// Destroy is empty.
type KV struct {
	V2                              bool
	Data, Metadata, Delete, Destroy string
	Type                            any // of the secrets engine; nil if Vault did not tell
}

// kvOf returns the paths of a secret for the description of its mount, which may be nil
// (vault.is_v2).
func kvOf(path string, mount *data.Map) KV {
	kv := KV{Data: path, Metadata: path, Delete: path}
	if mount.Len() == 0 {
		return kv
	}
	kv.Type = "kv"
	if v, ok := mount.Get("type"); ok {
		kv.Type = v
	}
	options, _ := mount.Value("options").(*data.Map)
	if kv.Type != "kv" || options.Value("version") != "2" {
		return kv
	}
	at := path
	if v, ok := mount.Get("path"); ok {
		at = data.Str(v)
	}
	kv.V2 = true
	kv.Data, kv.Metadata, kv.Destroy = v2Path(path, at, "data"), v2Path(path, at, "metadata"),
		v2Path(path, at, "destroy")
	return kv
}

// v2Path inserts a kind, such as data, after the mount of a path (vault._v2_the_path).
func v2Path(path, mount, kind string) string {
	path, mount = strings.Trim(path, "/"), strings.Trim(mount, "/")
	other := "data"
	if kind == other {
		other = "metadata"
	}
	together := mount + "/" + kind
	switch {
	case strings.HasPrefix(path, mount+"/"+other):
		return strings.Replace(path, mount+"/"+other, together, 1)
	case strings.HasPrefix(path, together):
		return path
	}
	return strings.Replace(path, mount, together, 1)
}

// mountsPath is the path at which Vault describes the mount of a path.
const mountsPath = "sys/internal/ui/mounts/"

// mountOf returns the description of a mount, or nil.
func mountOf(a *Answer) *data.Map {
	found, _ := a.Body.Value("data").(*data.Map)
	if !a.OK() || found.Len() == 0 {
		return nil
	}
	return found
}

// Limits of the mounts that a master caches.
const (
	maxMounts = 10_000
	mountTime = 10 * time.Minute
)

// mounts caches Vault's descriptions of the mounts of paths.
type mounts struct {
	mu    sync.Mutex
	known map[string]knownMount
}

type knownMount struct {
	*data.Map
	until time.Time
}

func mountKey(a address, path string) string { return a.url + "\x00" + a.namespace + "\x00" + path }

func (m *mounts) get(a address, path string) (*data.Map, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.known[mountKey(a, path)]
	return found.Map, ok && time.Now().Before(found.until)
}

func (m *mounts) put(a address, path string, found *data.Map) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxMounts {
		m.known = map[string]knownMount{}
	}
	m.known[mountKey(a, path)] = knownMount{found, time.Now().Add(mountTime)}
}
