package config

import (
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// A layout is the locations of Salt's files on a system (salt/_syspaths.py as it is built for
// each).
type layout struct {
	root   string // of all
	config string
}

func localLayout() layout {
	switch runtime.GOOS {
	case "windows":
		const root = `C:\ProgramData\Salt Project\Salt`
		return layout{root, root + `\conf`}
	case "freebsd", "openbsd", "dragonfly":
		return layout{"/", "/usr/local/etc/salt"}
	case "netbsd":
		return layout{"/", "/usr/pkg/etc/salt"}
	case "solaris", "illumos":
		return layout{"/", "/opt/local/etc/salt"}
	}
	return layout{"/", "/etc/salt"}
}

// DefaultDir returns the configuration directory of this system, /etc/salt on Linux.
func DefaultDir() string { return localLayout().config }

// localPath converts a Linux path to the corresponding path on this system. Other texts stay as
// they are.
func localPath(p string) string {
	l := localLayout()
	if rest, ok := strings.CutPrefix(p, "/etc/salt"); ok && (rest == "" || rest[0] == '/') {
		return l.config + filepath.FromSlash(rest)
	}
	if l.root == "/" {
		return p
	}
	for _, top := range []string{"/var/", "/srv/"} {
		if strings.HasPrefix(p, top) {
			return l.root + filepath.FromSlash(path.Clean(p))
		}
	}
	if p == "/" {
		return l.root
	}
	return p
}
