package vault_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/steps"
	"github.com/brineproject/brine/internal/test/testvault"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/vault"
)

// states returns the states of a minion without a master.
func states(t *testing.T, s *testvault.Server) *loader.Registry {
	t.Helper()
	opts := data.NewMap("id", "web1", "cachedir", t.TempDir(), "file_client", "local", "vault",
		data.NewMap("url", s.URL, "auth", data.NewMap("method", "token", "token", testvault.Root)))
	r, err := loader.NewRegistry(&loader.Env{Opts: opts}, []loader.Plugin{vault.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// testdata/steps.json has the results of Salt 3006.18 with a server like testvault: in test mode, for
// real, and both again.
func TestSteps(t *testing.T) {
	s := testvault.Start(t)
	steps.Run{Names: []string{"URL", s.URL},
		States: func(t *testing.T, _ string) *loader.Registry { return states(t, s) }}.
		Check(t, "testdata/steps.json")
	if got := s.Policy("foo/bar"); got != "x" {
		t.Errorf("the policy is %q", got)
	}
}

func TestTestModeWritesNothing(t *testing.T) {
	s := testvault.Start(t)
	before := s.Policy("there")
	call := *change.CallOf(t.Context())
	call.Test = true
	for _, name := range []string{"there", "fresh"} {
		if _, err := states(t, s).Invoke(change.WithCall(t.Context(), &call), "vault.policy_present", nil,
			data.NewMap("name", name, "rules", "other")); err != nil {
			t.Fatal(err)
		}
		if n := s.Count("PUT sys/policy/" + name); n != 0 {
			t.Errorf("%d requests change %s", n, name)
		}
	}
	if s.Policy("there") != before {
		t.Error("the policy has changed")
	}
}
