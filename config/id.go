package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A host is the source for guessing a name for this machine.
type host struct {
	name    func() (string, error)
	full    func(ctx context.Context, name string) string // name with its domain, or name
	file    func(name string) ([]byte, error)
	address func() []string
}

func localHost() host {
	return host{os.Hostname, fullName, os.ReadFile, addresses}
}

// nameTimeout limits the wait for name servers while an id is guessed. For a minion the id is
// essential. The id of a master appears only in a few messages, and every command would wait for
// it.
func nameTimeout(r role) time.Duration {
	if r == masterRole {
		return 2 * time.Second
	}
	return 10 * time.Second
}

// identify sets the id: the option, else the cached one, else a guess (salt.config.get_id). A guess
// on a master gets the suffix _master.
func (a *assembly) identify() {
	id := a.text("id")
	guessed, isIP := id == "", false
	if guessed {
		id = a.guessID()
		_, err := netip.ParseAddr(id)
		isIP = err == nil && strings.Contains(id, ".")
	}
	if domain := a.text("append_domain"); domain != "" && !isIP {
		id = appendDomain(id, domain)
	}
	if guessed && a.role == masterRole {
		id += "_master"
	}
	a.opts.Set("id", id)
}

func appendDomain(id, domain string) string {
	if strings.HasSuffix(id, domain) || strings.HasSuffix(id, ".") { // a final dot ends a full name
		return id
	}
	return id + "." + domain
}

func (a *assembly) guessID() string {
	if a.opts.Value("minion_id_caching") != false {
		if id := a.cachedID(); id != "" {
			return id
		}
	}
	id := a.host.guess(nameTimeout(a.role))
	if a.opts.Value("minion_id_lowercase") == true {
		id = strings.ToLower(id)
	}
	return removeDomain(id, a.opts.Value("minion_id_remove_domain"))
}

// cachedID returns the guess of an earlier start; a cached address counts like any other name.
func (a *assembly) cachedID() string {
	b, err := a.host.file(idFile(a.text("root_dir")))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(string(b), "\uFEFF"), "\n")
	line = strings.TrimSpace(line)
	if line == "localhost" || validID(line) != nil {
		return ""
	}
	return line
}

// idFile returns the path of the cached id. It is below root_dir, in this system's configuration
// directory, even if the files were read from another one.
func idFile(root string) string {
	l := localLayout()
	dir := strings.TrimPrefix(l.config, l.root)
	return filepath.Join(root, strings.TrimLeft(dir, `/\`), "minion_id")
}

func removeDomain(id string, domain any) string {
	switch domain := domain.(type) {
	case bool:
		if domain {
			id, _, _ = strings.Cut(id, ".")
		}
	case string:
		if domain != "" && strings.HasSuffix(strings.ToUpper(id), "."+strings.ToUpper(domain)) {
			return id[:len(id)-len(domain)-1]
		}
	}
	return id
}

// guess returns a name for this machine (salt.utils.network.generate_minion_id): its full name, its
// name, the names that its files give to the loopback, its first address, or localhost.
func (h host) guess(timeout time.Duration) string {
	name, err := h.name()
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		for _, n := range []string{h.full(ctx, name), name} {
			if usable(n) {
				return n
			}
		}
	}
	for _, file := range []string{"/etc/hostname", "/etc/nodename", "/etc/hosts", windowsHosts()} {
		if n := h.fromFile(file); n != "" {
			return n
		}
	}
	for _, addr := range h.address() {
		if usable(addr) {
			return addr
		}
	}
	return "localhost"
}

func windowsHosts() string {
	return filepath.Join(os.Getenv("WINDIR"), "system32", "drivers", "etc", "hosts")
}

func (h host) fromFile(file string) string {
	b, err := h.file(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) == 1 || strings.HasPrefix(fields[0], "127.") ||
			strings.HasPrefix(fields[0], "::1") {
			for _, f := range fields {
				if usable(f) {
					return f
				}
			}
		}
	}
	return ""
}

// usable reports whether a name distinguishes this machine from others.
func usable(name string) bool {
	return name != "" && validID(name) == nil && !loopbackNames().MatchString(name)
}

func loopbackNames() *regexp.Regexp {
	return regexp.MustCompile(`^(localhost|ip6-|ipv6-|127[.]\d|0\.0\.0\.0|::1|fe00::|fe02::|1.0.0.*.ip6.arpa)`)
}

// fullName is Python's socket.getfqdn: the first of the names of the first address that has a dot.
func fullName(ctx context.Context, name string) string {
	addrs, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil || len(addrs) == 0 {
		return name
	}
	names, err := net.DefaultResolver.LookupAddr(ctx, addrs[0])
	if err != nil || len(names) == 0 {
		return name
	}
	for i, n := range names {
		names[i] = strings.TrimSuffix(n, ".")
		if strings.Contains(names[i], ".") {
			return names[i]
		}
	}
	return names[0]
}

// addresses returns the IPv4 addresses of this machine, without the loopback.
func addresses() []string {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var list []string
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			list = append(list, ip.IP.String())
		}
	}
	return list
}

var errID = errors.New("an id must be one to 255 bytes long and contain no slash, backslash, control character or space at an end")

// validID rejects ids that cannot be the name of a file (salt.utils.verify.valid_id).
func validID(id string) error {
	bad := func(r rune) bool { return r == '/' || r == '\\' || r < ' ' || r == 0x7F }
	if id == "" || len(id) > 255 || id == "." || id == ".." || strings.ContainsFunc(id, bad) ||
		strings.TrimSpace(id) != id {
		return errID
	}
	return nil
}

// CacheID writes the ID to the file in which the next start looks for it, unless an id is
// configured or caching is off (salt.config._cache_id). Only the daemon calls it.
func (m *Minion) CacheID() error {
	if m.idConfigured || !m.MinionIDCaching {
		return nil
	}
	file := idFile(m.RootDir)
	if old, err := os.ReadFile(file); err == nil && string(old) == m.guessedID {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read cached id: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("cache id: %w", err)
	}
	if err := os.WriteFile(file, []byte(m.guessedID), 0o644); err != nil {
		return fmt.Errorf("cache id: %w", err)
	}
	return nil
}
