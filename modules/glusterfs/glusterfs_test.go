package glusterfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
)

// registry returns the module on a host with the program that the tests of the state have.
func registry(t *testing.T) *loader.Registry {
	t.Helper()
	bin, err := filepath.Abs("../../states/glusterfs/testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE", t.TempDir())
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCalls makes calls in sequence, with the answers of Salt 3006.18: glusterfs.peer,
// glusterfs.peer_status, glusterfs.list_volumes, glusterfs.info, glusterfs.status,
// glusterfs.create_volume, glusterfs.start_volume, glusterfs.stop_volume, glusterfs.delete_volume,
// glusterfs.add_volume_bricks, glusterfs.enable_quota_volume, glusterfs.disable_quota_volume,
// glusterfs.set_quota_volume, glusterfs.unset_quota_volume, glusterfs.list_quota_volume,
// glusterfs.get_op_version, glusterfs.set_op_version and glusterfs.get_max_op_version.
func TestCalls(t *testing.T) {
	r := registry(t)
	calls.Sequence(t, "testdata/calls.json", r.Invoke)
	if got, err := r.Invoke(t.Context(), "glusterfs.get_version", nil, nil); err != nil || got != "10.3" {
		t.Errorf("glusterfs.get_version returns %v, %v", got, err)
	}
	words, err := os.ReadFile(filepath.Join(os.Getenv("FAKE"), "volumes", "vol4", "words"))
	if err == nil {
		t.Errorf("words of a volume that is not there: %s", words)
	}
	_, err = r.Invoke(t.Context(), "glusterfs.create_volume", []any{"vol4", []any{"a:/b", "b:/b", "c:/b"}},
		data.NewMap("replica", int64(3), "arbiter", true, "stripe", int64(2), "transport", "rdma", "force", true))
	if err != nil {
		t.Fatal(err)
	}
	words, err = os.ReadFile(filepath.Join(os.Getenv("FAKE"), "volumes", "vol4", "words"))
	want := "stripe 2 replica 3 arbiter 1 transport rdma a:/b b:/b c:/b force\n"
	if err != nil || string(words) != want {
		t.Errorf("gluster got %q, %v, want %q", words, err, want)
	}
}

// A name reaches gluster neither as another command nor as an option.
func TestRefused(t *testing.T) {
	r := registry(t)
	for _, bad := range []string{"a\nvolume delete b", "a b", "--x", "", "'a"} {
		for fun, args := range map[string][]any{
			"peer": {bad}, "info": {bad}, "status": {bad}, "enable_quota_volume": {bad},
			"disable_quota_volume": {bad}, "list_quota_volume": {bad}, "get_op_version": {bad},
			"set_op_version": {bad}, "unset_quota_volume": {bad, "/"}, "set_quota_volume": {bad, "/", "1GB"},
			"create_volume": {bad, "a:/b"},
		} {
			if got, err := r.Invoke(t.Context(), "glusterfs."+fun, args, nil); err == nil {
				t.Errorf("%s %q gives %s", fun, args, data.Repr(got))
			}
		}
	}
}

// An answer that is not XML is the error, without its last line.
func TestParse(t *testing.T) {
	answer, err := parse("Welcome to gluster prompt, type 'help'\ngluster> <?xml version=\"1.0\"?>\n" +
		"  <cliOutput>\n  <opRet>0</opRet>\n  <a/></cliOutput>\ngluster> ")
	if err != nil || !answer.ok() || answer.child("a").text != nil {
		t.Errorf("with a prompt: %+v, %v", answer, err)
	}
	for _, text := range []string{"", "Connection failed.", "<a><b></a>", strings.Repeat("<a>", 100)} {
		if answer, err := parse(text); err == nil {
			t.Errorf("%q gives %+v", text, answer)
		}
	}
}
