package operations

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
)

// tables returns the rows of the tables of docs/operations.md, and of the exit codes in
// docs/compatibility.md, by the heading above them, each row as its cells.
func tables(t *testing.T) map[string][][]string {
	t.Helper()
	all := tablesOf(t, "../../../docs/operations.md")
	all[exitCodes] = tablesOf(t, "../../../docs/compatibility.md")[exitCodes]
	return all
}

const exitCodes = "Exit codes"

func tablesOf(t *testing.T, file string) map[string][][]string {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, heading, inTable := map[string][][]string{}, "", false
	for line := range strings.Lines(string(page)) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimLeft(line, "# ")
		case strings.HasPrefix(line, "|---"):
			inTable = true
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case inTable:
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			all[heading] = append(all[heading], cells)
		}
	}
	return all
}

func plain(s string) string { return strings.ReplaceAll(s, "`", "") }

// TestEachRowHasAScript compares the first cells of the tables with the rows that scripts claim to
// cover.
func TestEachRowHasAScript(t *testing.T) {
	rows := map[string]bool{}
	for heading, table := range tables(t) {
		for _, cells := range table {
			rows[heading+": "+plain(cells[0])] = true
		}
	}
	covered := covers(t)
	for row := range rows {
		if covered[row] == "" {
			t.Errorf("no script covers the row %q", row)
		}
	}
	for row, file := range covered {
		if !rows[row] {
			t.Errorf("%s covers %q, which is no row", file, row)
		}
	}
	if len(rows) < 100 {
		t.Errorf("%d rows were read", len(rows))
	}
}

// covers returns the covered rows with their scripts.
func covers(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	re, all := regexp.MustCompile(`(?m)^# covers (.*)$`), map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range re.FindAllStringSubmatch(string(text), -1) {
			all[plain(m[1])] = file
		}
	}
	return all
}

// TestExitCodesAreThoseOfTheTable compares the codes with those expected by the script of each row.
func TestExitCodesAreThoseOfTheTable(t *testing.T) {
	script, err := os.ReadFile("testdata/script/exit-codes.txtar")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	row := ""
	for line := range strings.Lines(string(script)) {
		if name, ok := strings.CutPrefix(line, "# covers "+exitCodes+": "); ok {
			row = plain(strings.TrimSpace(name))
		} else if words := strings.Fields(line); row != "" && len(words) > 1 && words[0] == "try" {
			want[row], row = words[1], "" // the first one; those below are of the remark
		}
	}
	for _, cells := range tables(t)[exitCodes] {
		if got := cells[1]; got != want[plain(cells[0])] {
			t.Errorf("%s: the table says %s, the script %q", cells[0], got, want[plain(cells[0])])
		}
	}
}

func TestSignalsAreThoseOfTheDaemons(t *testing.T) {
	var got [][2]string
	for _, cells := range tables(t)["Signals"] {
		got = append(got, [2]string{cells[0], cells[1]})
	}
	want := append(daemon.Signals(), [][2]string{{"a second SIGTERM or SIGINT", "ends at once"},
		{"SIGPIPE, or the console is gone", "nothing"}, {"SIGKILL", "ends at once"}}...)
	if !slices.Equal(got, want) {
		t.Errorf("the table has\n%q, the daemons\n%q", got, want)
	}
}

func TestOptionsThatMayChangeAreThoseOfTheConfiguration(t *testing.T) {
	master, minion := config.LiveOptions()
	for heading, want := range map[string][]string{"Reload master": master, "Reload minion": minion} {
		got := map[string]bool{}
		for _, cells := range tables(t)[heading] {
			got[plain(cells[0])] = true
		}
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
			t.Errorf("%s: the table has\n%q, the configuration\n%q", heading, names, want)
		}
	}
}
