package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// set matches a line that is no comment.
var set = regexp.MustCompile(`(?m)^[^#\n].*`)

// A loader loads the configuration of a role.
type loader func(dir string) (*data.Map, *config.Report, error)

func loaders() map[string]loader {
	return map[string]loader{
		"master": func(dir string) (*data.Map, *config.Report, error) {
			m, r, err := config.LoadMaster(dir, nil)
			return m.Map(), r, err
		},
		"minion": func(dir string) (*data.Map, *config.Report, error) {
			m, r, err := config.LoadMinion(dir, nil)
			return m.Map(), r, err
		},
	}
}

// TestDefaultConfiguration loads the default files with each of their options enabled, one at a
// time and then all. Unless an option is marked as an example its value must be the default.
func TestDefaultConfiguration(t *testing.T) {
	for role, load := range loaders() {
		t.Run(role, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("conf", role))
			if err != nil {
				t.Fatal(err)
			}
			defaults := loaded(t, load, role, "")
			if line := set.Find(text); line != nil {
				t.Errorf("the file as it is sets %s", line)
			}
			options := commented(string(text))
			if len(options) < 20 {
				t.Fatalf("%d options only", len(options))
			}
			all := ""
			for _, o := range options {
				all += o.line + "\n"
				got := loaded(t, load, role, o.line)
				if diff := cmp.Diff(data.Str(defaults.Value(o.name)),
					data.Str(got.Value(o.name))); diff != "" && !o.example {
					t.Errorf("%s is not the default:\n%s", o.line, diff)
				}
			}
			loaded(t, load, role, all)
		})
	}
}

// An option of a default file.
type option struct {
	name, line string
	example    bool
}

// commented returns the options of a file: lines with a comment mark directly before the name.
func commented(text string) []option {
	var options []option
	example := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, _, isOption := strings.Cut(strings.TrimPrefix(line, "#"), ":")
		switch {
		case line == "":
			example = false
		case strings.HasPrefix(line, "# "):
			example = strings.HasSuffix(line, "xample:") || strings.HasSuffix(line, "xamples:")
		case isOption:
			options = append(options, option{name, line[1:], example})
		}
	}
	return options
}

// loaded returns the options of a role whose file has that text, which must be free of faults and
// warnings.
func loaded(t *testing.T, load loader, role, text string) *data.Map {
	t.Helper()
	dir := t.TempDir()
	if !strings.Contains("\n"+text, "\nid:") {
		text += "\nid: web1\n" // the search for one asks name servers
	}
	if err := os.WriteFile(filepath.Join(dir, role), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	opts, report, err := load(dir)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if len(report.Warnings) > 0 || len(report.Unknown) > 0 {
		t.Errorf("%s: warnings %q, unknown %q", text, report.Warnings, report.Unknown)
	}
	return opts
}
