package quota_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	module "github.com/brineproject/brine/modules/quota"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/quota"
)

// TestRuns replays results of Salt 3006.18 with the programs of testdata/bin: test mode, real runs,
// and test mode again.
func TestRuns(t *testing.T) {
	runs.Programs(t)
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin())
	states.Replay(t, "testdata/runs.json", "", runs.Equal)
	for _, test := range []bool{true, false} {
		got := states.Run(t, test, "quota.mode", "/none", data.NewMap("mode", true, "quotatype", "user"))
		if got.Value("result") != false || !strings.Contains(got.Text("comment"), "/none has no user quota") {
			t.Errorf("a file system without quotas: %s", data.Repr(got))
		}
	}
}

// A program that fails is named in the comment, unless the quotas are as wanted all the same.
func TestFailures(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"setquota": "", "quotaoff": "echo busy >&2; exit 1",
		"quotaon": `if [ "$1" = -p ]; then
	if [ -e "$FAKE/on" ]; then is=on; else is=off; fi
	echo "group quota on $2 (/dev/sda1) is on"; echo "user quota on $2 (/dev/sda1) is $is"
else
	: >"$FAKE/on"; echo group: busy >&2; exit 1
fi`} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("FAKE", dir)
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin())
	kwargs := data.NewMap("mode", true, "quotatype", "user")
	if got := states.Run(t, false, "quota.mode", "/srv", kwargs); got.Value("result") != true {
		t.Errorf("on: %s", data.Repr(got))
	}
	kwargs = data.NewMap("mode", false, "quotatype", "user")
	want := "Failed to set quota for /srv to off: quotaoff /srv: code 1: busy"
	if got := states.Run(t, false, "quota.mode", "/srv", kwargs); got.Value("result") != false ||
		got.Text("comment") != want {
		t.Errorf("off: %s", data.Repr(got))
	}
}
