package aptpkg

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1.0", "1.0", 0}, {"1.0~rc1", "1.0", -1}, {"1:0.1", "9", 1}, {"1.0-1", "1.0-1+b1", -1},
		{"1.0", "1.0-0", 0}, {"1.10", "1.9", 1},
		{"2.2.4a", "2.2.4+", -1}, {"1.0~~", "1.0~", -1}, {"", "1", -1}, {"0:1", "1", 0}, {"1.001",
			"1.1", 0}, {"1-1-2", "1-1-10", -1},
	} {
		if got, ok := compare(c.a, c.b); got != c.want || !ok {
			t.Errorf("compare(%q, %q) = %d, %t, want %d", c.a, c.b, got, ok, c.want)
		}
	}
	for _, bad := range []string{"1-", ":1", "a:1", "1:", "-1", "1 2", "99999999999:1"} {
		if got, ok := compare(bad, "1"); ok {
			t.Errorf("compare(%q, 1) = %d", bad, got)
		}
	}
}

// TestCompareAsDpkg compares random versions and checks the result against dpkg.
func TestCompareAsDpkg(t *testing.T) {
	need.Program(t, "dpkg")
	r := rand.New(rand.NewPCG(1, 2))
	version := func() string {
		b := []byte{'1'}
		for range r.IntN(6) {
			b = append(b, "012a~+.-:z"[r.IntN(10)])
		}
		return string(b)
	}
	for range 200 {
		a, b := version(), version()
		got, ok := compare(a, b)
		want, known := 0, false
		for oper, order := range map[string]int{"lt": -1, "eq": 0, "gt": 1} {
			if exec.Command("dpkg", "--compare-versions", a, oper, b).Run() == nil {
				want, known = order, true
			}
		}
		if got != want || ok != known {
			t.Errorf("compare(%q, %q) = %d, %t, dpkg says %d, %t", a, b, got, ok, want, known)
		}
	}
}

// The outputs are those of apt 2.6 and dpkg 1.21 on Debian 12.
func TestParse(t *testing.T) {
	l := parseListing("install ok installed bash 5.2 amd64\ndeinstall ok config-files mc 3:4.8 amd64\nhold ok installed sl 5 amd64\n"+
		"install ok half-installed bad 1 amd64\ninstall ok triggers-pending man 2 all\npurge ok installed curl 7 amd64\n"+
		"install ok installed libc6 2.36 i386\nunknown ok not-installed gone  amd64\ninstall ok installed kernel 2 amd64\ninstall ok installed kernel 1 amd64\n", "amd64")
	if want := data.NewMap("bash", []any{"5.2"}, "sl", []any{"5"}, "man", []any{"2"},
		"libc6:i386", []any{"2.36"}, "kernel", []any{"1", "2"}); !data.Equal(l.installed, want) {
		t.Errorf("installed are %s", data.Repr(l.installed))
	}
	if !data.Equal(l.removed, data.NewMap("mc", []any{"3:4.8"})) ||
		!data.Equal(l.purge, data.NewMap("curl", []any{"7"})) {
		t.Errorf("got %s and %s", data.Repr(l.removed), data.Repr(l.purge))
	}
	policy := parsePolicy("hello:\n  Installed: (none)\n  Candidate: 2.10-3\n" +
		"  Version table:\n     2.10-3 500\n        500 http://deb.debian.org/debian bookworm/main " +
		"amd64 Packages\nmail-transport-agent:\n  Installed: (none)\n  Candidate: (none)\n" +
		"  Version table:\nlibc6:i386:\n  Installed: (none)\n  Candidate: 2.36-9\n")
	if len(policy) != 3 || policy["hello"] != "2.10-3" || policy["mail-transport-agent"] != "" ||
		policy["libc6:i386"] != "2.36-9" {
		t.Errorf("got %v", policy)
	}
	upgrades := parseUpgrades("Inst tar [1.34] (1.34+u1 Debian:12/stable [amd64])\nConf tar (1.34+u1 Debian:12/stable [amd64])\nConf libfoo:i386 (1:2 Debian [i386])\n")
	if !data.Equal(upgrades, data.NewMap("tar", "1.34+u1", "libfoo:i386", "1:2")) {
		t.Errorf("got %s", data.Repr(upgrades))
	}
	lists, failed := parseUpdate("Hit:1 http://a x InRelease\nGet:2 http://a y InRelease [151 kB]\nIgn:3 http://b z InRelease\nErr:4 http://c w InRelease\n  Could not resolve\nReading package lists...\n")
	want := data.NewMap("http://a x InRelease", nil, "http://a y InRelease", true,
		"http://b z InRelease", false, "http://c w InRelease", false)
	if !data.Equal(lists, want) || len(failed) != 1 {
		t.Errorf("got %s, %v", data.Repr(lists), failed)
	}
	removed := parseRemoved("Building dependency tree...\nThe following packages will be REMOVED:\n  libb* liba\n  libc\n0 upgraded\n  no\n")
	if !data.Equal(data.Values(removed), []any{"liba", "libb", "libc"}) {
		t.Errorf("got %v", removed)
	}
	if got := parseOwner("diversion by dash from: /bin/sh\ndiversion by dash to: /bin/sh.distrib\ndash: /bin/sh\n"); got != "dash" {
		t.Errorf("the owner is %q", got)
	}
	shown := parseShow("Package: gawk\nVersion: 1\nSection: x\nDescription: a\n b\n\nPackage: gawk\nVersion: 2\nSection: y\n", []string{"section"})
	if !data.Equal(shown, data.NewMap("gawk",
		data.NewMap("1", data.NewMap("Section", "x"), "2", data.NewMap("Section", "y")))) {
		t.Errorf("got %s", data.Repr(shown))
	}
}

func FuzzParse(f *testing.F) {
	f.Add("install ok installed bash 5.2 amd64\nhello:\n  Candidate: 1\nConf a (1\nGet:1 x [1 B]\nPackage: a\nVersion: 1\n", "1:2-3")
	f.Fuzz(func(t *testing.T, text, version string) {
		parseListing(text, "amd64")
		parsePolicy(text)
		parseUpgrades(text)
		parseUpdate(text)
		parseRemoved(text)
		parseOwner(text)
		parseShow(text, nil)
		parseSelections(text)
		parseRestarts(text)
		there, ok := compare(text, version)
		back, okBack := compare(version, text)
		if there != -back || ok != okBack {
			t.Errorf("%q and %q have no order: %d, %d", text, version, there, back)
		}
	})
}

// apt is retried with growing delays while another program holds the lock.
func TestLock(t *testing.T) {
	var waits []time.Duration
	tries := 0
	env := &loader.Env{Grains: func() *data.Map { return data.NewMap("os_family", "Debian") }}
	r, err := loader.NewRegistry(env, nil)
	if err != nil {
		t.Fatal(err)
	}
	env = r.Env()
	env.Call = func(context.Context, string, []any, *data.Map) (any, error) {
		if tries++; tries < 4 {
			return data.NewMap("retcode", int64(100), "stdout", "", "stderr",
				"E: Could not get lock /var/lib/dpkg/lock-frontend."), nil
		}
		return data.NewMap("retcode", int64(0), "stdout", "done", "stderr", ""), nil
	}
	m := &module{env: env, pause: func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }}
	for range 2 {
		tries, waits = 0, nil
		o, err := m.apt(t.Context(), calls.Run{}, "apt-get", "update")
		if err != nil || o.Stdout != "done" || len(waits) != 3 || waits[2] != 8*time.Second {
			t.Errorf("got %v, %v after %v", o, err, waits)
		}
	}
}
