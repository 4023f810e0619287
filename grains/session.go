package grains

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/version"
)

func (c *collection) cwd(context.Context) *data.Map {
	dir, err := os.Getwd()
	if err != nil {
		return nil
	}
	return data.NewMap("cwd", dir)
}

// path returns path and systempath.
func (c *collection) path(context.Context) *data.Map {
	p := strings.TrimSpace(c.host.env("PATH"))
	return data.NewMap("path", p, "systempath",
		data.Values(strings.Split(p, string(filepath.ListSeparator))))
}

// shell returns the shell that new users get.
func (c *collection) shell(context.Context) *data.Map {
	if onWindows() {
		return data.NewMap("shell", first(c.host.env("COMSPEC"), `C:\Windows\system32\cmd.exe`))
	}
	return data.NewMap("shell", first(c.host.env("SHELL"), "/bin/sh"))
}

// process returns username, groupname, pid, gid and uid (salt/grains/minion_process.py).
func (c *collection) process(context.Context) *data.Map {
	g := data.NewMap("username", "", "groupname", "", "pid", int64(os.Getpid()))
	if u, err := user.LookupId(strconv.Itoa(os.Geteuid())); err == nil && !onWindows() {
		g.Set("username", u.Username)
		if group, err := user.LookupGroupId(u.Gid); err == nil {
			g.Set("groupname", group.Name)
		}
	} else if u, err := user.Current(); err == nil {
		g.Set("username", u.Username)
	}
	if !onWindows() {
		g.Set("gid", int64(os.Getegid()))
		g.Set("uid", int64(os.Geteuid()))
	}
	return g
}

func (c *collection) machineID(context.Context) *data.Map {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if b, err := c.host.read(path); err == nil {
			return data.NewMap("machine_id", strings.TrimSpace(clean(b)))
		}
	}
	return nil
}

// pythonVersion returns the Python version whose rules templates and modules can rely on: see the
// package comment.
func (c *collection) pythonVersion(context.Context) *data.Map {
	return data.NewMap("pythonversion", []any{int64(3), int64(10), int64(0), "final", int64(0)})
}

func (c *collection) saltVersion(context.Context) *data.Map {
	return data.NewMap("saltversion", version.Salt())
}

func (c *collection) saltVersionInfo(context.Context) *data.Map {
	info := []any{}
	for _, part := range strings.Split(version.Salt(), ".") {
		info = append(info, number(part))
	}
	return data.NewMap("saltversioninfo", info)
}

// localeInfo returns the language and encoding of the environment and the time zone's abbreviation.
func (c *collection) localeInfo(context.Context) *data.Map {
	language, encoding := locale(c.host.env)
	zone, _ := time.Now().Zone()
	return data.NewMap("locale_info", data.NewMap(
		"defaultlanguage", language, "defaultencoding", encoding, "detectedencoding", "utf-8",
		"timezone", zone))
}

// locale returns the language and encoding as Python's locale.getdefaultlocale does, nil for the C
// locale. Without LC_ALL Python replaces the C locale by C.UTF-8 (its PEP 538), which counts as
// en_US. A language without an encoding gets the one of its ISO 8859 set. The rest of Python's
// table of aliases is not supported, and installed locales are not checked.
func locale(env func(string) string) (language, encoding any) {
	name := env("LC_ALL")
	if name == "" {
		name = first(env("LC_CTYPE"), env("LANG"))
		if name == "" || name == "C" || name == "POSIX" {
			name = "C.UTF-8"
		}
	}
	name, modifier, _ := strings.Cut(name, "@")
	name, charset, _ := strings.Cut(name, ".")
	if charset = charsetName(charset); strings.EqualFold(name, "C") ||
		strings.EqualFold(name, "POSIX") {
		if charset != "UTF-8" {
			return nil, nil
		}
		name = "en_US"
	}
	if modifier == "euro" && charset == "" {
		charset = "ISO8859-15"
	}
	if charset == "" {
		charset = defaultCharset(name)
	}
	return name, charset
}

// charsetName returns an encoding in the spelling of Python's locale module.
func charsetName(s string) string {
	plain := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s))
	switch {
	case plain == "utf8":
		return "UTF-8"
	case strings.HasPrefix(plain, "iso8859"):
		return "ISO8859-" + strings.TrimPrefix(plain, "iso8859")
	case plain == "koi8r":
		return "KOI8-R"
	case plain == "koi8u":
		return "KOI8-U"
	case plain == "eucjp":
		return "eucJP"
	case plain == "euckr":
		return "eucKR"
	}
	return s
}

func defaultCharset(language string) string {
	short, _, _ := strings.Cut(strings.ToLower(language), "_")
	for charset, languages := range map[string]string{
		"ISO8859-2": "bs cs hr hu pl ro sh sk sl sq", "ISO8859-5": "mk", "ISO8859-6": "ar",
		"ISO8859-7": "el", "ISO8859-8": "he iw", "ISO8859-9": "ku tr", "ISO8859-13": "lt lv",
		"ISO8859-15": "et fi", "CP1251": "be bg", "KOI8-U": "uk", "eucJP": "ja", "eucKR": "ko",
		"UTF-8": "am as bn fa fy gu hy kn lb ml mn mr my ne or pa ps ru si sr sw ta te ti tk",
	} {
		if strings.Contains(" "+languages+" ", " "+short+" ") {
			return charset
		}
	}
	switch strings.ToLower(language) {
	case "zh_cn":
		return "gb2312"
	case "zh_tw":
		return "big5"
	}
	return "ISO8859-1"
}
