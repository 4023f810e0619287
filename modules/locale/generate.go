package locale

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// A name is a locale name in its parts: language[_territory][.codeset][@modifier] [charmap].
type name struct{ language, territory, codeset, modifier, charmap string }

func parse(s string) (n name) {
	s, n.charmap, _ = strings.Cut(s, " ")
	s, n.modifier, _ = strings.Cut(s, "@")
	s, n.codeset, _ = strings.Cut(s, ".")
	n.language, n.territory, _ = strings.Cut(s, "_")
	return n
}

func (n name) String() string {
	s := n.language
	for _, part := range [][2]string{{"_", n.territory}, {".", n.codeset}, {"@", n.modifier},
		{" ", n.charmap}} {
		if part[1] != "" {
			s += part[0] + part[1]
		}
	}
	return s
}

// normal returns the name in the form of locale -a.
func (n name) normal() string {
	n.territory = strings.ToUpper(n.territory)
	n.codeset = strings.ReplaceAll(strings.ToLower(n.codeset), "-", "")
	n.charmap = ""
	return n.String()
}

type genArgs struct {
	Locale string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// genLocale generates a locale, and returns whether that succeeded.
//
// verbose
//
//	True: return the full output of the program.
//
// CLI Example:
//
//	salt '*' locale.gen_locale en_US.UTF-8
//	salt '*' locale.gen_locale 'en_IE.UTF-8 UTF-8'
func (m *module) genLocale(ctx context.Context, a genArgs) (any, error) {
	ubuntu := m.env.GrainsNow().Text("os") == "Ubuntu"
	n := parse(a.Locale)
	if n.charmap == "" && !ubuntu {
		n.charmap = n.codeset
		a.Locale = n.String()
	}
	if ok, err := m.supported(a.Locale, n); err != nil || !ok {
		return false, err
	}
	if err := m.want(ctx, a.Locale, n, ubuntu); err != nil {
		return nil, err
	}
	line, err := m.generator(a, n, ubuntu)
	if err != nil {
		return nil, err
	}
	ran, ok, err := m.run(ctx, line...)
	if data.Truth(a.Kwargs.Value("verbose")) {
		return ran.Map, err
	}
	return ok, err
}

// supported reports whether a locale can be generated. Debian and Gentoo have a list of them, other
// systems a directory.
func (m *module) supported(locale string, n name) (bool, error) {
	grains := m.env.GrainsNow()
	if grains.Text("os") == "Debian" || grains.Text("os_family") == "Gentoo" {
		src, err := os.ReadFile(m.at("/usr/share/i18n/SUPPORTED"))
		if err != nil {
			return false, loader.Execution("Locale \"%s\" is not available: %w", locale, err)
		}
		for line := range strings.Lines(string(src)) {
			if strings.TrimRight(line, "\r\n") == locale {
				return true, nil
			}
		}
		m.env.Log.Errorf("The provided locale %q is not found in /usr/share/i18n/SUPPORTED", locale)
		return false, nil
	}
	dir := "/usr/share/i18n/locales"
	if grains.Text("os_family") == "Suse" {
		dir = "/usr/share/locale"
	}
	if _, err := os.Stat(m.at(dir)); err != nil {
		return false, loader.Execution("Locale \"%s\" is not available.", locale)
	}
	_, err := os.Stat(m.at(filepath.Join(dir, filepath.Base(n.language+"_"+n.territory))))
	return err == nil, nil
}

// want adds a locale to the file that the generator reads. Like Salt's file.replace, it leaves a
// backup of the file with the suffix .bak, and an empty line in place of a comment.
func (m *module) want(ctx context.Context, locale string, n name, ubuntu bool) error {
	if list := m.at("/etc/locale.gen"); paths.Exists(list) {
		return m.replace(ctx, list, `^\s*#\s*`+regexp.QuoteMeta(locale)+`\s*$`, locale+"\n")
	}
	if !ubuntu {
		return nil
	}
	list := m.at("/var/lib/locales/supported.d/" + filepath.Base(n.language))
	if err := calls.Touch(ctx, m.env, list); err != nil {
		return err
	}
	return m.replace(ctx, list, regexp.QuoteMeta(locale), locale)
}

// replace replaces the match of a pattern in a file. If nothing matches it appends the text.
func (m *module) replace(ctx context.Context, list, pattern, text string) error {
	_, err := m.env.Call(ctx, "file.replace", []any{list, pattern, text},
		data.NewMap("append_if_not_found", true))
	return err
}

// generator returns the command line that generates a locale.
func (m *module) generator(a genArgs, n name, ubuntu bool) ([]string, error) {
	at := n.language + "_" + n.territory
	switch {
	case process.Find("locale-gen") != "" && m.env.GrainsNow().Text("os_family") == "Gentoo":
		return []string{"locale-gen", "--generate", a.Locale}, nil
	case process.Find("locale-gen") != "" && ubuntu:
		return []string{"locale-gen", parse(a.Locale).normal()}, nil
	case process.Find("locale-gen") != "":
		return []string{"locale-gen", a.Locale}, nil
	case process.Find("localedef") != "":
		how := "--quiet"
		if data.Truth(a.Kwargs.Value("verbose")) {
			how = "--verbose"
		}
		return []string{"localedef", "--force", "-i", at, "-f", n.codeset, at + "." +
			n.codeset, how}, nil
	}
	return nil, loader.Execution("Command \"locale-gen\" or \"localedef\" was not found on this system.")
}
