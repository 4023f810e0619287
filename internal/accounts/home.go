package accounts

import (
	"os"
	"os/user"
	"strconv"
	"strings"
)

// Home returns the home directory of the user that runs this program: HOME from getenv, else the
// directory in the password database, because a service manager sets no HOME. If neither is known
// it returns "". An empty HOME counts as unset.
func Home(getenv func(string) string) string {
	if home := getenv("HOME"); home != "" {
		return home
	}
	if home := getenv("USERPROFILE"); home != "" && os.PathSeparator == '\\' {
		return home
	}
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil {
		return ""
	}
	return u.HomeDir
}

// Expand replaces ~ or ~USER at the beginning of a path by the home directory, as Python's
// os.path.expanduser does. The path of a user without a known home is returned unchanged, and is
// then not absolute.
func Expand(path string) string {
	if !strings.HasPrefix(path, "~") {
		return path
	}
	end := strings.IndexFunc(path, func(r rune) bool { return r == '/' || r == os.PathSeparator })
	if end < 0 {
		end = len(path)
	}
	home := ""
	if name := path[1:end]; name == "" {
		home = Home(os.Getenv)
	} else if u, err := user.Lookup(name); err == nil {
		home = u.HomeDir
	}
	if home == "" {
		return path
	}
	home = strings.TrimRight(home, "/") + path[end:]
	if home == "" {
		return "/"
	}
	return home
}
