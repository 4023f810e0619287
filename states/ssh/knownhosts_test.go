//go:build unix

package ssh_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testroot"
)

// TestKnownHosts finds, hashes and removes hosts with the real ssh-keygen.
func TestKnownHosts(t *testing.T) {
	for _, program := range []string{"ssh", "ssh-keygen"} {
		need.Program(t, program)
	}
	r := testroot.Plain(t)
	r.Make(t, "etc/ssh")
	key := func(name string) string {
		file := r.Path("tmp/" + name)
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "",
			"-f", file).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
		return strings.Fields(r.Read(t, "tmp/"+name+".pub"))[1]
	}
	first, second := key("a"), key("b")
	for _, user := range []any{nil, "root"} {
		for _, hashed := range []bool{false, true} {
			file, shown := "etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts"
			if user != nil {
				file, shown = "root/.ssh/known_hosts", ".ssh/known_hosts"
			}
			var old any
			for _, k := range []string{first, second} {
				args := data.NewMap("name", "web1", "user", user, "key", k, "enc", "ssh-ed25519",
					"hash_known_hosts", hashed)
				word := "added to"
				if old != nil {
					word = "updated in"
				}
				r.Expect(t, true, "ssh_known_hosts.present", args,
					testroot.Step{Comment: "Key for web1 is set to be " + word + " " + shown})
				got := r.Apply(t, false, "ssh_known_hosts.present", args)
				if got.Value("result") != true || got.Value("comment") != "web1's key saved to "+
					shown+" (key: "+k+")" || !data.Truth(got.Value("changes")) {
					t.Errorf("got %s", data.Repr(got))
				}
				old = k
				r.Expect(t, false, "ssh_known_hosts.present", args,
					testroot.Step{Result: true, Comment: "web1 already exists in " + shown})
				r.Expect(t, true, "ssh_known_hosts.present", args,
					testroot.Step{Result: true, Comment: "Host web1 is already in " + shown})
				text := r.Read(t, file)
				if strings.Count(text, "\n") != 1 || !strings.Contains(text, k) ||
					strings.Contains(text, "web1") == hashed {
					t.Errorf("the file is\n%s", text)
				}
			}
			args := data.NewMap("name", "web1", "user", user)
			r.Expect(t, true, "ssh_known_hosts.absent", args,
				testroot.Step{Comment: "Key for web1 is set to be removed from " + shown})
			if got := r.Apply(t, false, "ssh_known_hosts.absent",
				args); got.Value("result") != true || !data.Truth(got.Value("changes")) {
				t.Errorf("got %s", data.Repr(got))
			}
			r.Expect(t, false, "ssh_known_hosts.absent", args,
				testroot.Step{Result: true, Comment: "Host is already absent"})
		}
	}
	r.Expect(t, false, "ssh_known_hosts.present", data.NewMap("name", "web1", "key", first),
		testroot.Step{Result: false, Comment: `Required argument "enc" if using "key" argument.`})
	// Salt 3006.0 rejects this only in test mode.
	raw, err := base64.StdEncoding.DecodeString(first)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(raw)
	both := data.NewMap("name", "web2", "key", first, "enc", "ssh-ed25519", "hash_known_hosts", false,
		"fingerprint", strings.ReplaceAll(strings.TrimSpace(fmt.Sprintf("% x", sum)), " ", ":"))
	r.Expect(t, true, "ssh_known_hosts.present", both,
		testroot.Step{Result: false, Comment: `Specify either "key" or "fingerprint", not both.`})
	if got := r.Apply(t, false, "ssh_known_hosts.present", both); got.Value("result") != true ||
		!data.Truth(got.Value("changes")) {
		t.Errorf("key and fingerprint: %s", data.Repr(got))
	}
	r.Expect(t, false, "ssh_known_hosts.present", both,
		testroot.Step{Result: true, Comment: "web2 already exists in /etc/ssh/ssh_known_hosts"})
	r.Expect(t, false, "ssh_known_hosts.absent", data.NewMap("name", "web1", "config", "here"),
		testroot.Step{Result: false, Comment: `If not specifying a "user", specify an absolute "config".`})
	r.Expect(t, false, "ssh_known_hosts.present", data.NewMap("name", "web1", "port", int64(2222)),
		testroot.Step{Result: false, Comment: "argument port can not be used in conjunction with argument hash_known_hosts"})
}
