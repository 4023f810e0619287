package nftables

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

type ruleArgs struct {
	Name   string
	Family any       `default:"'ipv4'"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// A wish is what a state wants of a rule, with its texts.
type wish struct {
	there  bool
	fun    string // the function for the change
	args   func(rule string) ([]any, *data.Map)
	texts  func(rule string) change.Texts
	saved  func(rule string) string
	failed func(rule, comment string) string
}

// keep keeps a rule in a chain, or out of it.
func (m *module) keep(ctx context.Context, a ruleArgs, w wish) (change.Result, error) {
	if !a.Kwargs.Has("table") || !a.Kwargs.Has("chain") {
		return change.Refuse(a.Name, "table and chain must be specified")
	}
	parts := a.Kwargs.Clone()
	for _, key := range []string{"table", "chain", "position", "save", "full"} {
		parts.Delete(key)
	}
	parts.Set("family", a.Family)
	built, err := change.Ask[*data.Map](ctx, m.env, "nftables.build_rule", nil, parts)
	if err != nil {
		return change.Result{}, err
	}
	rule := built.Text("rule")
	texts, done := w.texts(strings.TrimSpace(rule)), ""
	return change.Thing[bool]{
		Name:  a.Name,
		Look:  m.is("check", a.Kwargs.Value("table"), a.Kwargs.Value("chain"), rule, a.Family),
		Wants: func(there bool) *data.Map { return locale(there != w.there, a.Name) },
		Apply: func(ctx context.Context, _ bool) error {
			args, kwargs := w.args(rule)
			failed := func(comment string) string { return w.failed(strings.TrimSpace(rule), comment) }
			if err := m.act(ctx, failed, w.fun, kwargs, args...); err != nil {
				return err
			}
			if done = texts.Done; !data.Truth(a.Kwargs.Value("save")) {
				return nil
			}
			done = w.saved(strings.TrimSpace(rule))
			return m.save(ctx, nil, a.Family)
		},
		Silent: true,
		Texts:  texts,
		Say: func(o change.Outcome[bool]) any {
			if o.Stage == change.StageDone {
				return done
			}
			return nil
		},
	}.Ensure(ctx)
}

// appended keeps a rule in a chain. A new one becomes the last.
//
// table, chain
//
//	Where the rule belongs.
//
// save
//
//	True: save all rules after a change.
//
// Further arguments are those of nftables.build_rule.
//
//	ssh:
//	  nftables.append:
//	    - table: filter
//	    - chain: input
//	    - jump: accept
//	    - connstate: new
//	    - proto: tcp
//	    - dport: 22
func (m *module) appended(ctx context.Context, a ruleArgs) (change.Result, error) {
	of, family := "nftables rule for "+a.Name, data.Str(a.Family)
	return m.keep(ctx, a, wish{
		there: true, fun: "append",
		args: func(rule string) ([]any, *data.Map) {
			return []any{a.Kwargs.Value("table"), a.Kwargs.Value("chain"), rule, a.Family}, nil
		},
		texts: func(rule string) change.Texts {
			return change.Texts{
				Same:  of + " already set (" + rule + ") for " + family,
				Would: of + " needs to be set (" + rule + ") for " + family,
				Done:  "Set " + of + " to: " + rule + " for " + family,
			}
		},
		saved: func(rule string) string { return "Set and Saved " + of + " to: " + rule + " for " + family },
		failed: func(rule, comment string) string {
			return "Failed to set " + of + ".\nAttempted rule was " + rule + " for " + family + ".\n" +
				comment
		},
	})
}

// inserted keeps a rule in a chain. A new one goes before the rule with the handle position, or
// becomes the first. Its other arguments are those of nftables.append.
//
//	ssh:
//	  nftables.insert:
//	    - table: filter
//	    - chain: input
//	    - jump: accept
//	    - proto: tcp
//	    - dport: 22
func (m *module) inserted(ctx context.Context, a ruleArgs) (change.Result, error) {
	of, family := "nftables rule for "+a.Name, data.Str(a.Family)
	return m.keep(ctx, a, wish{
		there: true, fun: "insert",
		args: func(rule string) ([]any, *data.Map) {
			return []any{a.Kwargs.Value("table"), a.Kwargs.Value("chain"), a.Kwargs.Value("position"), rule,
				a.Family}, nil
		},
		texts: func(rule string) change.Texts {
			return change.Texts{
				Same:  of + " already set for " + family + " (" + rule + ")",
				Would: of + " needs to be set for " + family + " (" + rule + ")",
				Done:  "Set " + of + " to: " + rule + " for " + family,
			}
		},
		saved: func(rule string) string { return "Set and Saved " + of + " to: " + rule + " for " + family },
		failed: func(rule, _ string) string {
			return "Failed to set " + of + ".\nAttempted rule was " + rule
		},
	})
}

// deleted keeps a rule out of a chain. With a position, the rule with this handle is deleted. Its other
// arguments are those of nftables.append.
//
//	ssh:
//	  nftables.delete:
//	    - table: filter
//	    - chain: input
//	    - jump: accept
//	    - proto: tcp
//	    - dport: 22
func (m *module) deleted(ctx context.Context, a ruleArgs) (change.Result, error) {
	of, family := "nftables rule for "+a.Name, data.Str(a.Family)
	return m.keep(ctx, a, wish{
		there: false, fun: "delete",
		args: func(rule string) ([]any, *data.Map) {
			more := data.NewMap("family", a.Family, "rule", rule)
			if position, ok := a.Kwargs.Get("position"); ok {
				more = data.NewMap("family", a.Family, "position", position)
			}
			return []any{a.Kwargs.Value("table"), a.Kwargs.Value("chain")}, more
		},
		texts: func(rule string) change.Texts {
			return change.Texts{
				Same:  of + " already absent for " + family + " (" + rule + ")",
				Would: of + " needs to be deleted for " + family + " (" + rule + ")",
				Done:  "Delete " + of + " " + rule,
			}
		},
		saved: func(rule string) string { return "Deleted and Saved " + of + " for " + rule + family },
		failed: func(rule, _ string) string {
			return "Failed to delete " + of + ".\nAttempted rule was " + rule
		},
	})
}
