package crontab

import (
	"strings"
	"testing"
)

func of(s string) *string { return &s }

// What Salt 3006.0 reads and writes.
const whole = `MAILTO=me
# mine
0 1 * * * mine
# Lines below here are managed by Salt, do not edit
PATH=/bin:/sbin
EMPTY=""
# SALT_CRON_IDENTIFIER:backup
0 2 * * * /bin/backup  --all
# first line
# second line SALT_CRON_IDENTIFIER:two
#DISABLED#5 * * * 1 two
* * * * * no comment
# daily thing
@daily clean up
`

func TestTheSameText(t *testing.T) {
	if got := Parse(whole).String(); got != whole {
		t.Errorf("%s\nbecomes\n%s", whole, got)
	}
	if got := Parse("").String(); got != mark+"\n" {
		t.Errorf("an empty crontab becomes %q", got)
	}
}

func TestSetAndRemove(t *testing.T) {
	job := func(command, id string, times ...string) Job {
		return Job{Command: command, Identifier: of(id), Times: [5]string(times)}
	}
	for _, c := range []struct {
		job  Job
		want Status
		line string
	}{
		{job("/bin/backup  --all", "backup", "0", "2", "*", "*", "*"), Present,
			"0 2 * * * /bin/backup  --all\n"},
		{job("/bin/other", "backup", "0", "2", "*", "*", "*"), Updated,
			"# SALT_CRON_IDENTIFIER:backup\n0 2 * * * /bin/other\n"},
		{job("/bin/backup  --all", "backup", "random", "1:5", "*", "*", "*"), Present,
			"0 2 * * * /bin/backup"},
		{job("no comment", "named", "*", "*", "*", "*", "*"), Updated,
			"# SALT_CRON_IDENTIFIER:named\n* * * * * no comment\n"},
		{job("mine", "mine", "0", "1", "*", "*", "*"), New, "# SALT_CRON_IDENTIFIER:mine\n0 1 * * * mine\n"},
		{Job{Special: "@daily", Command: "clean up", Comment: of("daily thing")}, Present,
			"@daily clean up\n"},
		{Job{Special: "@weekly", Command: "clean up", Comment: of("a\nb"), Identifier: of("c"),
			Disabled: true}, Updated, "# a\n# b SALT_CRON_IDENTIFIER:c\n#DISABLED#@weekly clean up\n"},
		{Job{Special: "@reboot", Command: "two", Identifier: of("two")}, Updated, "@reboot two\n"},
	} {
		tab := Parse(whole)
		if got := tab.Set(c.job); got != c.want || !strings.Contains(tab.String(), c.line) {
			t.Errorf("%v gives %s\n%s", c.job, got, tab)
		}
		again := Parse(tab.String())
		if got := again.Set(c.job); got != Present || again.String() != tab.String() {
			t.Errorf("%v again gives %s", c.job, got)
		}
	}
	tab, none := Parse(whole), [5]*string{}
	for _, c := range []struct {
		got, want Status
	}{
		{tab.Remove("x", "backup", "", [5]*string{of("7")}), Absent},
		{tab.Remove("x", "backup", "", [5]*string{of("0")}), Removed},
		{tab.Remove("x", "backup", "", none), Absent}, {tab.Remove("clean up", "", "@weekly", none), Absent},
		{tab.Remove("clean up", "any", "*", none), Removed},
		{tab.Remove("no comment", "no comment", "", none), Removed},
		{tab.SetVariable("PATH", "/bin"), Updated}, {tab.SetVariable("EMPTY", ""), Present},
		{tab.SetVariable("X", "y"), New},
		{tab.RemoveVariable("EMPTY"), Removed}, {tab.RemoveVariable("EMPTY"), Absent},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
	want := "MAILTO=me\n# mine\n0 1 * * * mine\n" + mark +
		"\nPATH=/bin\nX=y\n# first line\n# second line SALT_CRON_IDENTIFIER:two\n#DISABLED#5 * * * 1 two\n"
	if tab.String() != want {
		t.Errorf("left is\n%s", tab)
	}
}

func TestTimesByChance(t *testing.T) {
	seen := map[string]bool{}
	for range 400 {
		j := Job{Times: [5]string{"10:5", "random", "random", "2", "random"}}
		j.draw()
		for i, limits := range [5][2]string{{"5", "10"}, {"0", "23"}, {"1", "28"}, {"2", "2"}, {"0", "6"}} {
			if !fits(j.Times[i], limits[0]+":"+limits[1]) {
				t.Fatalf("%v", j.Times)
			}
		}
		seen[j.Times[0]] = true
	}
	if len(seen) != 6 {
		t.Errorf("minutes %v", seen)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Add(mark + "\n@x\n#DISABLED#\n=\n* *\n")
	f.Fuzz(func(t *testing.T, text string) {
		once := Parse(text).String()
		if again := Parse(Parse(once).String()).String(); again != Parse(once).String() {
			t.Errorf("%q becomes %q, then %q", text, once, again)
		}
	})
}
