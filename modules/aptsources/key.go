package aptsources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// keyDir is where keys of sources lie that stand in files of their own.
const keyDir = "/etc/apt/keyrings"

// A ring is where a key goes: to apt-key, or to a file.
type ring struct {
	aptKey    bool
	dir, file string
}

// ringOf returns where the key of a source goes. signedBy is its option; the first file in it counts.
func ringOf(signedBy string, aptKey bool) ring {
	for name := range strings.FieldsFuncSeq(signedBy, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
		if strings.HasPrefix(name, "/") {
			return ring{aptKey, filepath.Dir(name), filepath.Base(name)}
		}
	}
	return ring{aptKey: aptKey}
}

// useAptKey reports whether keys go to apt-key: where it is wanted, and there is one.
func (m *module) useAptKey(ctx context.Context, wanted any) (bool, error) {
	has, err := m.has(ctx, "apt-key")
	return has && data.Truth(wanted), err
}

// A keyWish is the keys that a source is to have.
type keyWish struct {
	ring    ring
	saltenv string
	kwargs  *data.Map
}

// addKeys adds the keys that the arguments of a source name.
func (m *module) addKeys(ctx context.Context, w keyWish) error {
	hasID, hasURL, hasText := w.kwargs.Has("keyid"), w.kwargs.Has("key_url"), w.kwargs.Has("key_text")
	if (hasID || hasURL || hasText) && !w.ring.aptKey && w.ring.file == "" {
		return loader.Invocation("missing 'signedby' option when apt-key is missing")
	}
	switch {
	case hasID:
		return m.addFromServer(ctx, w)
	case hasURL:
		return m.addFromURL(ctx, w)
	case hasText && w.ring.aptKey:
		return m.aptKeyAdd(ctx, "Error: failed to add key:\n"+w.kwargs.Text("key_text"), data.NewMap("stdin", w.kwargs.Value("key_text")), "-")
	case hasText:
		return m.placeKey(w.ring, []byte(w.kwargs.Text("key_text")))
	}
	return nil
}

func (m *module) addFromServer(ctx context.Context, w keyWish) error {
	ids, server := w.kwargs.Value("keyid"), w.kwargs.Text("keyserver")
	if !data.Truth(ids) || server == "" {
		return loader.Exception("NameError", "both keyserver and keyid options required.")
	}
	list, ok := ids.([]any)
	if !ok {
		list = []any{ids}
	}
	for _, id := range list {
		if err := m.fetchKey(ctx, w.ring, keyID(id), server); err != nil {
			return err
		}
	}
	return nil
}

// keyID returns a key's id as a text. YAML takes some of them for numbers.
func keyID(id any) string {
	if n, ok := id.(int64); ok {
		return fmt.Sprintf("%#x", n)
	}
	return data.Str(id)
}

// fetchKey gets a key from a server unless it is there.
func (m *module) fetchKey(ctx context.Context, r ring, id, server string) error {
	if err := process.Operands(id); err != nil {
		return loader.Execution("Error: Could not add key: %w", err)
	}
	if !r.aptKey {
		ok, err := m.receive(ctx, r, id, server)
		if err == nil && !ok {
			err = loader.Execution("Error: Could not add key: %s", id)
		}
		return err
	}
	out, err := m.run(ctx, data.NewMap("ignore_retcode", true), "apt-key", "export", id)
	if err != nil || strings.HasPrefix(out.stdout, "-----BEGIN PGP") {
		return err
	}
	command := []any{"apt-key", "adv", "--batch"}
	proxy, err := m.proxyFor(ctx, server)
	if err != nil {
		return err
	}
	through, drop, err := through(proxy)
	if err != nil {
		return err
	}
	defer drop()
	command = append(command, through...)
	out, err = m.run(ctx, nil, append(command, "--keyserver", server, "--logger-fd", "1", "--recv-keys", id)...)
	if err == nil && out.code != 0 {
		err = loader.Execution("Error: key retrieval failed: %s", out.stdout)
	}
	return err
}

// through returns the options of gpg for a proxy, and what ends their use. One with a password stands in a file, since whoever lists
// processes sees the options.
func through(proxy string) (options []any, drop func(), err error) {
	drop = func() {}
	switch {
	case proxy == "":
		return nil, drop, nil
	case strings.ContainsAny(proxy, "\r\n"):
		return nil, drop, loader.Execution("the address of the proxy has more than one line")
	case !strings.Contains(proxy, "@"):
		return []any{"--keyserver-options", "http-proxy=" + proxy}, drop, nil
	}
	f, err := os.CreateTemp("", "__salt.tmp.")
	if err != nil {
		return nil, drop, loader.Execution("keep the address of the proxy for gpg: %w", err)
	}
	_, err = f.WriteString("keyserver-options http-proxy=" + proxy + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, drop, loader.Execution("keep the address of the proxy for gpg: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return []any{"--options", f.Name()}, func() { os.Remove(f.Name()) }, nil
}

// proxyFor returns the proxy on the way to a server, or "".
func (m *module) proxyFor(ctx context.Context, server string) (string, error) {
	without, err := m.env.Call(ctx, "config.option", []any{"no_proxy"}, nil)
	if err != nil {
		return "", err
	}
	if list, ok := without.([]any); ok {
		for _, v := range list {
			if data.Str(v) == server {
				return "", nil
			}
		}
	}
	return m.proxy(ctx)
}

func (m *module) addFromURL(ctx context.Context, w keyWish) error {
	url := w.kwargs.Text("key_url")
	path, err := m.cached(ctx, url, w.saltenv)
	switch {
	case err != nil:
		return err
	case path == "":
		return loader.Execution("Error: file not found: %s", url)
	case w.ring.aptKey:
		return m.aptKeyAdd(ctx, "Error: failed to add key from "+url, nil, path)
	}
	key, err := os.ReadFile(path)
	if err == nil {
		err = m.placeKey(w.ring, key)
	}
	if err != nil {
		m.env.Log.Errorf("add the key of a source: %v", err)
		return loader.Execution("Error: Could not add key: %s", path)
	}
	return nil
}

// cached gets a file to the cache of the minion, and returns its path; "" where there is no such file.
func (m *module) cached(ctx context.Context, url, saltenv string) (string, error) {
	v, err := m.env.Call(ctx, "cp.cache_file", []any{url, saltenv}, nil)
	if err != nil || !data.Truth(v) {
		return "", err
	}
	return data.Str(v), nil
}

func (m *module) aptKeyAdd(ctx context.Context, failure string, words *data.Map, path string) error {
	out, err := m.run(ctx, words, "apt-key", "add", path)
	if err == nil && !strings.HasPrefix(strings.ToUpper(out.stdout), "OK") {
		err = loader.Execution("%s", failure)
	}
	return err
}

// placeKey puts a key in its file, without its armor unless the name of the file wants that.
func (m *module) placeKey(r ring, key []byte) error {
	if err := m.needDir(r.dir); err != nil {
		return err
	}
	if filepath.Ext(r.file) != ".asc" && armored(key) {
		plain, err := dearmor(key)
		if err != nil {
			return err
		}
		key = plain
	}
	path := filepath.Join(m.path(r.dir), r.file)
	if now, err := os.ReadFile(path); err == nil && string(now) == string(key) {
		return nil
	}
	return atomicfile.Write(path, key, atomicfile.Options{Mode: 0o644, Keep: true})
}

// needDir is an error where there is no directory for keys. It is not made: apt trusts what lies there.
func (m *module) needDir(dir string) error {
	info, err := os.Stat(m.path(dir))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return fmt.Errorf("The directory %s does not exist. Please create this directory only writable by root", dir) //nolint:staticcheck // Salt's text
	}
	return err
}

// receive gets a key from a server to its file unless it is there, and reports whether it has.
func (m *module) receive(ctx context.Context, r ring, id, server string) (bool, error) {
	if err := m.needDir(r.dir); err != nil {
		m.env.Log.Error(err)
		return false, nil
	}
	file := filepath.Join(m.path(r.dir), r.file)
	old, err := os.ReadFile(file)
	if err == nil {
		var known *data.Map
		if known, err = m.keysIn(ctx, file); err != nil || keyOf(known, id) != nil {
			return err == nil, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	key, err := m.download(ctx, id, server)
	if err != nil || key == nil {
		return false, err
	}
	return true, atomicfile.Write(file, append(joinable(old), key...), atomicfile.Options{Mode: 0o644, Keep: true})
}

// joinable returns the content of a file of keys if further keys can follow it: not that of a keybox, nor with armor.
func joinable(old []byte) []byte {
	if armored(old) || len(old) > 12 && string(old[8:12]) == "KBXf" {
		return nil
	}
	return old
}

// download gets a key from a server; nil where that fails, which is logged.
func (m *module) download(ctx context.Context, id, server string) ([]byte, error) {
	home, err := os.MkdirTemp("", "apt-key-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	proxy, err := m.proxyFor(ctx, server)
	if err != nil {
		return nil, err
	}
	gpg := []any{"gpg", "--homedir", home, "--batch", "--no-tty", "--yes"}
	receive := append(gpg[:len(gpg):len(gpg)], "--keyserver", server)
	through, drop, err := through(proxy)
	if err != nil {
		return nil, err
	}
	defer drop()
	receive = append(receive, through...)
	file := filepath.Join(home, "key")
	for _, command := range [][]any{append(receive, "--recv-keys", id), append(gpg[:len(gpg):len(gpg)], "--output", file, "--export", id)} {
		out, err := m.run(ctx, nil, command...)
		if err != nil {
			return nil, err
		}
		if out.code != 0 {
			m.env.Log.Errorf("Unable to add repo key: %s", out.stderr)
			return nil, nil
		}
	}
	return os.ReadFile(file)
}
