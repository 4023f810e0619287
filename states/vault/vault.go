// Package vault is Salt's state vault: policies of a HashiCorp Vault (salt/states/vault.py).
package vault

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/difflib"
	"github.com/brineproject/brine/internal/vault"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state vault.
func Plugin() loader.Plugin { return loader.Plugin{Name: "vault", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{loader.F("policy_present", m.policyPresent)}}, nil
}

type policyArgs struct {
	Name  string
	Rules string
}

// policyPresent gives a policy its rules, and creates it if it does not exist.
//
// rules
//
//	The rules in HCL.
//
//	demo-policy:
//	  vault.policy_present:
//	    - name: foo/bar
//	    - rules: |
//	        path "secret/top-secret/*" {
//	          policy = "deny"
//	        }
func (m *module) policyPresent(ctx context.Context, a policyArgs) (any, error) {
	s := vault.Of(ctx, m.env)
	rules, exists, err := policy(ctx, s, a.Name)
	if err != nil {
		return change.Failed(a.Name, "Failed to get policy: "+err.Error()), nil
	}
	changed := change.OldNew(nil, a.Rules)
	would, did, failed := "Policy would be created", "Policy was created", "Failed to create policy: "
	switch {
	case exists && rules == a.Rules:
		return change.Unchanged(a.Name, "Policy exists, and has the correct content"), nil
	case exists:
		changed = data.NewMap("change",
			difflib.Text(difflib.Lines(rules), difflib.Lines(a.Rules)))
		would, did, failed = "Policy would be changed", "Policy was updated", "Failed to change policy: "
	case change.Test(ctx):
		changed.Set("old", "") // as in Salt
	}
	changes := data.NewMap(a.Name, changed)
	if change.Test(ctx) {
		return change.Would(a.Name, changes, would), nil
	}
	answer, err := s.Request(ctx, "PUT", path(a.Name), data.NewMap("rules", a.Rules))
	if err != nil {
		return change.Failed(a.Name, failed+err.Error()), nil
	}
	if answer.Status != 200 && answer.Status != 204 {
		return change.Failed(a.Name, failed+answer.Reason), nil
	}
	return change.New(a.Name, true, changes, did), nil
}

func path(name string) string { return "sys/policy/" + name }

// policy returns the rules of a policy, and whether it exists.
func policy(ctx context.Context, s *vault.Session, name string) (rules string, exists bool, err error) {
	a, err := s.Request(ctx, "GET", path(name), nil)
	if err != nil {
		return "", false, err
	}
	if a.Status == 404 {
		return "", false, nil
	}
	if err := a.Err(); err != nil {
		return "", false, err
	}
	rules, ok := a.Body.Value("rules").(string)
	if !ok {
		return "", false, errors.New("'rules'")
	}
	return rules, true, nil
}
