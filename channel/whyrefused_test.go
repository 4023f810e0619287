package channel

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/pki"
)

// TestWhyRefused checks the explanations of refused sign-ins for operators.
func TestWhyRefused(t *testing.T) {
	for _, tt := range []struct {
		claim pki.Claim
		want  string
	}{
		{pki.Claim{Full: true, Incoming: "x"}, "max_minions are connected"},
		{pki.Claim{Incoming: "x", State: pki.Rejected}, "salt-key -d web1 lets the minion ask again"},
		{pki.Claim{Incoming: "x", Reject: true}, "a rule for new keys rejects the id"},
	} {
		if got := whyRefused(pki.Judge(tt.claim), "web1"); !strings.Contains(got, tt.want) {
			t.Errorf("%+v: %q, want %q", tt.claim, got, tt.want)
		}
	}
}
