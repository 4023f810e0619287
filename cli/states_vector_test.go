package cli_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/vectors"
)

// TestVectorStates runs states on Brine minions and compares salt's output, in all modes of the
// outputter highstate.
func TestVectorStates(t *testing.T) {
	t.Setenv("SHELL", "/bin/bash") // as it was where the vectors were captured
	f := vectors.Load(t, "10-cli-states.json")
	files := f.Top.Value("fixture_files").(*data.Map)
	grains := fixture + "/web1/etc/grains" // kept when the runs were over: they disabled a state
	files.Set(grains, strings.Replace(files.Text(grains), "state_runs_disabled:\n- bang\n", "", 1))
	s := startSite(t, f)
	for _, section := range f.Sections() {
		t.Run(section, func(t *testing.T) {
			for _, c := range f.Section(section) {
				argv := data.TextsOf(c.Value("argv"))
				t.Run(strings.Join(argv, " "), func(t *testing.T) {
					s.checkStates(t, c.On(t), argv)
				})
			}
		})
	}
}

func (s *site) checkStates(t *testing.T, c *vectors.Case, argv []string) {
	if strings.HasPrefix(strings.Join(argv, " "), "web1 state.apply st.file") {
		need.Root(t, "to give a link to root")
	}
	if strings.Join(argv, " ") == "web1 state.check_request" {
		s.run(t, "salt", []string{"web1", "state.request", "st.ok"}) // a run that is not among the cases
	}
	if strings.Join(argv, " ") == "web1 state.apply st.file show_diff=False" {
		s.write(t, "/out/managed.txt", "other\n") // as somebody had done before this case was recorded
	}
	stdout, stderr, code := s.run(t, c.Text("program"), argv)
	got, want := stdout, byChance(stdout, c.Text("stdout"))
	for _, pattern := range data.TextsOf(c.Value("volatile")) {
		volatile := regexp.MustCompile(pattern)
		got, want = volatile.ReplaceAllString(got, "~"), volatile.ReplaceAllString(want, "~")
	}
	if c.Map.Value("minions_in_any_order") == true {
		got, want = s.inOrder(got), s.inOrder(want)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s %q: stdout (-want +got):\n%s", c.Text("program"), argv, diff)
	}
	if code != c.Int("exit_code") {
		t.Errorf("%q: exit code %d, want %d\n%s", argv, code, c.Int("exit_code"), stderr)
	}
}

// byChance adjusts the expected text of the state t3 of st.aggr, whose changes are random, to the
// number in got. In the vectors it has some.
func byChance(got, want string) string {
	const some = "     Changes:   \n              ----------\n              testing:\n                  ----------\n" +
		"                  new:\n                      Something pretended to change\n" +
		"                  old:\n                      Unchanged\n"
	t3 := regexp.MustCompile(`(?s)          ID: t3\n.*?----------\n          ID: t4\n`)
	there := t3.FindString(want)
	if there == "" || strings.Contains(t3.FindString(got), some) {
		return want
	}
	// in test mode the result is None all the same
	none := strings.Replace(there, some, "     Changes:   \n", 1)
	return strings.NewReplacer(there, none, "(unchanged=2, changed=2)",
		"(unchanged=2, changed=1)").Replace(want)
}

// inOrder sorts the output of each minion, from the line with its id on.
func (s *site) inOrder(text string) string {
	blocks := []string{""}
	for line := range strings.Lines(text) {
		if slices.Contains(s.ids, strings.TrimSuffix(line, ":\n")) {
			blocks = append(blocks, "")
		}
		blocks[len(blocks)-1] += line
	}
	slices.Sort(blocks)
	return strings.Join(blocks, "")
}
