package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/pki"
)

// Numbers of days in which no minion could follow are rejected before anything is asked or done.
func TestKeyRotateMasterRefusesDays(t *testing.T) {
	h := usualKeys(t)
	tree := pki.Visit(h.path("pki"), pki.Options{})
	if _, err := tree.LoadOrCreate("master", 2048, ""); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(h.path("pki/master.pem"))
	if err != nil {
		t.Fatal(err)
	}
	for _, days := range []string{"nan", "0", "-1", "1e-9", "inf", "1e9", "soon"} {
		r := h.run(t, "", "-y", "--rotate-master-key="+days)
		if r.code == 0 || !strings.Contains(r.stderr, "--rotate-master-key") ||
			strings.Contains(r.stdout, "is going to") {
			t.Errorf("--rotate-master-key=%s: %+v, want a refusal that names the option", days, r)
		}
	}
	if now, err := os.ReadFile(h.path("pki/master.pem")); err != nil || string(now) != string(before) {
		t.Errorf("the key was replaced: %v", err)
	}
	if r := h.run(t, "", "-y", "--rotate-master-key=0.5"); r.code != 0 {
		t.Errorf("half a day: %+v", r)
	}
}

// Without an answer nothing is done, and the message explains how to avoid the question.
func TestKeyRotateMasterWithoutATerminal(t *testing.T) {
	h := usualKeys(t)
	if _, err := pki.Visit(h.path("pki"), pki.Options{}).LoadOrCreate("master", 2048, ""); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(h.path("pki/master.pem"))
	if err != nil {
		t.Fatal(err)
	}
	r := h.run(t, "", "--rotate-master-key")
	if r.code == 0 || !strings.Contains(r.stderr, "Error: EOF when reading a line") ||
		!strings.Contains(r.stderr, "-y does it") {
		t.Errorf("code %d, stderr %q", r.code, r.stderr)
	}
	if now, err := os.ReadFile(h.path("pki/master.pem")); err != nil || string(now) != string(before) {
		t.Errorf("the key was replaced: %v", err)
	}
	if r := h.run(t, "n\n", "--rotate-master-key"); r.code != 0 {
		t.Errorf("the answer no: %+v", r)
	}
}
