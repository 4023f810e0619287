package aptsources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// keyDir is the directory of keys that are stored in separate files.
const keyDir = "/etc/apt/keyrings"

// A ring is the destination of a key: apt-key or a file.
type ring struct {
	aptKey    bool
	dir, file string
}

// ringOf returns the destination for the key of a source. signedBy is its option; the first file in
// it is used.
func ringOf(signedBy string, aptKey bool) ring {
	for name := range strings.FieldsFuncSeq(signedBy,
		func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
		if strings.HasPrefix(name, "/") {
			return ring{aptKey, filepath.Dir(name), filepath.Base(name)}
		}
	}
	return ring{aptKey: aptKey}
}

// useAptKey reports whether keys go to apt-key: if it is wanted and installed.
func (m *module) useAptKey(ctx context.Context, wanted any) (bool, error) {
	has, err := m.has(ctx, "apt-key")
	return has && data.Truth(wanted), err
}

// A wantedKeys is the keys that a source should have.
type wantedKeys struct {
	ring    ring
	saltenv string
	kwargs  *data.Map
}

// addKeys adds the keys that the arguments of a source name.
func (m *module) addKeys(ctx context.Context, w wantedKeys) error {
	hasID, hasURL, hasText := w.kwargs.Has("keyid"), w.kwargs.Has("key_url"),
		w.kwargs.Has("key_text")
	if (hasID || hasURL || hasText) && !w.ring.aptKey && w.ring.file == "" {
		return loader.Invocation("missing 'signedby' option when apt-key is missing")
	}
	switch {
	case hasID:
		return m.addFromServer(ctx, w)
	case hasURL:
		return m.addFromURL(ctx, w)
	case hasText && w.ring.aptKey:
		return m.aptKeyAdd(ctx, "Error: failed to add key:\n"+w.kwargs.Text("key_text"),
			calls.Run{Stdin: w.kwargs.Text("key_text")}, "-")
	case hasText:
		return m.placeKey(w.ring, []byte(w.kwargs.Text("key_text")))
	}
	return nil
}

func (m *module) addFromServer(ctx context.Context, w wantedKeys) error {
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

// keyID returns a key ID as a string. YAML parses some IDs as numbers.
func keyID(id any) string {
	if n, ok := id.(int64); ok {
		return fmt.Sprintf("%#x", n)
	}
	return data.Str(id)
}

// fetchKey fetches a key from a server unless it is present.
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
	out, err := m.run(ctx, calls.Run{IgnoreRetcode: true}, "apt-key", "export", id)
	if err != nil || strings.HasPrefix(out.Stdout, "-----BEGIN PGP") {
		return err
	}
	command := []string{"apt-key", "adv", "--batch"}
	proxy, err := m.proxyFor(ctx, server)
	if err != nil {
		return err
	}
	proxyArgs, drop, err := proxyOptions(proxy)
	if err != nil {
		return err
	}
	defer drop()
	command = append(command, proxyArgs...)
	out, err = m.run(ctx, calls.Run{},
		append(command, "--keyserver", server, "--logger-fd", "1", "--recv-keys", id)...)
	if err == nil && out.Retcode != 0 {
		err = loader.Execution("Error: key retrieval failed: %s", out.Stdout)
	}
	return err
}

// proxyOptions returns the options of gpg for a proxy, and a function that cleans up after use. A
// URL with a password is written to a file, since command-line options are visible in the process
// list.
func proxyOptions(proxy string) (options []string, drop func(), err error) {
	drop = func() {}
	switch {
	case proxy == "":
		return nil, drop, nil
	case strings.ContainsAny(proxy, "\r\n"):
		return nil, drop, loader.Execution("the address of the proxy has more than one line")
	case !strings.Contains(proxy, "@"):
		return []string{"--keyserver-options", "http-proxy=" + proxy}, drop, nil
	}
	f, err := os.CreateTemp("", "__salt.tmp.")
	if err != nil {
		return nil, drop, loader.Execution("write the proxy address for gpg: %w", err)
	}
	_, err = f.WriteString("keyserver-options http-proxy=" + proxy + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, drop, loader.Execution("write the proxy address for gpg: %w",
			errors.Join(err, os.Remove(f.Name())))
	}
	return []string{"--options", f.Name()}, func() { os.Remove(f.Name()) }, nil
}

// proxyFor returns the proxy for a server, or "".
func (m *module) proxyFor(ctx context.Context, server string) (string, error) {
	without, err := loader.CallAs[any](ctx, m.env, "config.option", []any{"no_proxy"}, nil)
	if err != nil {
		return "", err
	}
	// "" if the option is not set
	if list, ok := without.([]any); ok && slices.Contains(data.Texts(list), server) {
		return "", nil
	}
	return m.proxy(ctx)
}

func (m *module) addFromURL(ctx context.Context, w wantedKeys) error {
	url := w.kwargs.Text("key_url")
	path, err := packages.Fetched(ctx, m.env, url, w.saltenv)
	switch {
	case err != nil:
		return err
	case path == "":
		return loader.Execution("Error: file not found: %s", url)
	case w.ring.aptKey:
		return m.aptKeyAdd(ctx, "Error: failed to add key from "+url, calls.Run{}, path)
	}
	key, err := os.ReadFile(path)
	if err == nil {
		err = m.placeKey(w.ring, key)
	}
	if err != nil {
		m.env.Log.Errorf("Unable to add the key of a source: %v", err)
		return loader.Execution("Error: Could not add key: %s", path)
	}
	return nil
}

func (m *module) aptKeyAdd(ctx context.Context, failure string, r calls.Run, path string) error {
	out, err := m.run(ctx, r, "apt-key", "add", path)
	if err == nil && !strings.HasPrefix(strings.ToUpper(out.Stdout), "OK") {
		err = loader.Execution("%s", failure)
	}
	return err
}

// placeKey writes a key to its file, dearmored unless the file name asks for an armored key.
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

// needDir returns an error if the key directory does not exist. It is not created, because apt
// trusts its content.
func (m *module) needDir(dir string) error {
	info, err := os.Stat(m.path(dir))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return fmt.Errorf("The directory %s does not exist. Please create this directory only writable by root", dir) //nolint:staticcheck // Salt's text
	}
	return err
}

// receive fetches a key from a server into its file unless it is present, and reports success.
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
	return true, atomicfile.Write(file, append(joinable(old), key...),
		atomicfile.Options{Mode: 0o644, Keep: true})
}

// joinable returns the content of a key file if further keys can be appended: it must be neither a
// keybox nor armored.
func joinable(old []byte) []byte {
	if armored(old) || len(old) > 12 && string(old[8:12]) == "KBXf" {
		return nil
	}
	return old
}

// download fetches a key from a server. If that fails it logs the error and returns nil.
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
	gpg := []string{"gpg", "--homedir", home, "--batch", "--no-tty", "--yes"}
	receive := append(gpg[:len(gpg):len(gpg)], "--keyserver", server)
	proxyArgs, drop, err := proxyOptions(proxy)
	if err != nil {
		return nil, err
	}
	defer drop()
	receive = append(receive, proxyArgs...)
	file := filepath.Join(home, "key")
	for _, command := range [][]string{append(receive, "--recv-keys", id),
		append(gpg[:len(gpg):len(gpg)], "--output", file, "--export", id)} {
		out, err := m.run(ctx, calls.Run{}, command...)
		if err != nil {
			return nil, err
		}
		if out.Retcode != 0 {
			m.env.Log.Errorf("Unable to add repo key: %s", out.Stderr)
			return nil, nil
		}
	}
	return os.ReadFile(file)
}
