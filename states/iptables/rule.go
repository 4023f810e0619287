package iptables

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

func trimmed(v any) string { return strings.TrimSpace(data.Str(v)) }

// An operation is one of the three ways to change rules: how it is done, how to tell whether it is
// already done, and the texts for comments. In texts {name}, {family}, {command} and {saved} are
// placeholders.
type operation struct {
	command string // command line letter for iptables
	there   bool   // the rule is to exist afterwards
	do      func(ctx context.Context, m *module, r rule) (ok bool, err error)

	same, would, done, saved, failed string
}

// A rule is the rule that a state manages.
type rule struct {
	args        optionArgs
	chain       any
	text, whole string // without and with the program
	position    any
	hasPosition bool
	save        any
	family      string
}

// append adds a rule to the end of a chain unless it already exists. All further arguments are long
// options of iptables without their dashes; see the function iptables.build_rule.
//
// save
//
//	True: save the rules for the next boot. A path: save them to this file.
//
//	httpd:
//	  iptables.append:
//	    - table: filter
//	    - chain: INPUT
//	    - jump: ACCEPT
//	    - match:
//	        - state
//	        - comment
//	    - comment: "Allow HTTP"
//	    - connstate: NEW
//	    - dport: 80
//	    - protocol: tcp
//	    - save: True
func (m *module) append(ctx context.Context, a optionArgs) (change.Result, error) {
	return m.bring(ctx, a, operation{
		command: "A", there: true,
		do: func(ctx context.Context, m *module, r rule) (bool, error) {
			ok, err := m.call(ctx, "append", r.args.Table, r.chain, r.text, r.args.Family)
			return data.Truth(ok), err
		},
		same:   "iptables rule for {name} already set ({command}) for {family}",
		would:  "iptables rule for {name} needs to be set ({command}) for {family}",
		done:   "Set iptables rule for {name} to: {command} for {family}",
		saved:  "Set and saved iptables rule {name} for {family}\n{command}\n{saved}",
		failed: "Failed to set iptables rule for {name}.\nAttempted rule was {command} for {family}",
	})
}

// insert inserts a rule into a chain at a position unless it already exists. All further arguments
// are those of iptables.append.
//
// position
//
//	The position, counting from 1.
//
//	httpd:
//	  iptables.insert:
//	    - position: 1
//	    - chain: INPUT
//	    - jump: ACCEPT
//	    - dport: 80
//	    - protocol: tcp
func (m *module) insert(ctx context.Context, a optionArgs) (change.Result, error) {
	return m.bring(ctx, a, operation{
		command: "I", there: true,
		do: func(ctx context.Context, m *module, r rule) (bool, error) {
			if !r.hasPosition {
				return false, loader.Exception("KeyError", "'position'")
			}
			complaint, err := m.call(ctx, "insert", r.args.Table, r.chain, r.position, r.text,
				r.args.Family)
			return !data.Truth(complaint), err
		},
		same:   "iptables rule for {name} already set for {family} ({command})",
		would:  "iptables rule for {name} needs to be set for {family} ({command})",
		done:   "Set iptables rule for {name} to: {command} for {family}",
		saved:  "Set and saved iptables rule {name} for {family}\n{command}\n{saved}",
		failed: "Failed to set iptables rule for {name}.\nAttempted rule was {command}",
	})
}

// delete removes a rule from a chain: the rule given by arguments as for iptables.append, or the
// one at a position.
//
//	httpd:
//	  iptables.delete:
//	    - chain: INPUT
//	    - jump: ACCEPT
//	    - dport: 80
//	    - protocol: tcp
func (m *module) delete(ctx context.Context, a optionArgs) (change.Result, error) {
	return m.bring(ctx, a, operation{
		command: "D",
		do:      deleteAll,
		same:    "iptables rule for {name} already absent for {family} ({command})",
		would:   "iptables rule for {name} needs to be deleted for {family} ({command})",
		done:    "Delete iptables rule for {name} {command}",
		saved:   "Deleted and saved iptables rule {name} for {family}\n{command}\n{saved}",
		failed:  "Failed to delete iptables rule for {name}.\nAttempted rule was {command}",
	})
}

// maxCopies is the limit on how many copies of a rule are deleted.
const maxCopies = 1000

// deleteAll deletes the rule at a position, or all copies of a rule.
func deleteAll(ctx context.Context, m *module, r rule) (bool, error) {
	if r.hasPosition {
		complaint, err := m.call(ctx, "delete", r.args.Table, r.chain, r.position, nil,
			r.args.Family)
		return !data.Truth(complaint), err
	}
	for range maxCopies {
		complaint, err := m.call(ctx, "delete", r.args.Table, r.chain, nil, r.text, r.args.Family)
		if err != nil || data.Truth(complaint) {
			return false, err
		}
		there, err := m.check(ctx, r)
		if err != nil || !there {
			return !there, err
		}
	}
	return false, nil
}

// rule builds the rule of a state.
func (m *module) rule(ctx context.Context, a optionArgs, command string) (rule, error) {
	r := rule{args: a, family: data.Str(a.Family), save: a.Kwargs.Value("save")}
	options := &data.Map{}
	options.Update(a.Kwargs)
	options.Delete("__agg__")
	options.Set("name", a.Name)
	options.Set("table", a.Table)
	options.Set("family", a.Family)
	text, err := loader.CallAs[string](ctx, m.env, "iptables.build_rule", nil, options)
	if err != nil {
		return r, err
	}
	options.Set("full", "True")
	options.Set("command", command)
	whole, err := m.env.Call(ctx, "iptables.build_rule", nil, options)
	if err != nil {
		return r, err
	}
	r.text, r.whole = text, trimmed(whole)
	r.position, r.hasPosition = a.Kwargs.Get("position")
	r.chain, err = a.need("chain")
	return r, err
}

func (m *module) check(ctx context.Context, r rule) (bool, error) {
	there, err := m.call(ctx, "check", r.args.Table, r.chain, r.text, r.args.Family)
	return there == true, err
}

func (d operation) text(format string, r rule, saved string) string {
	return strings.NewReplacer("{name}", r.args.Name, "{family}", r.family, "{command}", r.whole,
		"{saved}", saved).Replace(format)
}

// A ruleState is what a state found about a rule, and what it did.
type ruleState struct {
	kept    bool   // it is as desired
	unsaved bool   // it is as desired, but the saved rules differ
	done    bool   // the change has been made
	out     string // output of saving
}

// bring applies a change, or those of all aggregated rules.
func (m *module) bring(ctx context.Context, a optionArgs, d operation) (change.Result, error) {
	if rules, ok := a.Kwargs.Value("rules").([]any); ok {
		return m.joined(ctx, a, rules, d)
	}
	r, err := m.rule(ctx, a, d.command)
	if err != nil {
		return change.Result{}, err
	}
	return change.Thing[*ruleState]{
		Name: a.Name,
		Look: func(ctx context.Context) (*ruleState, error) { return m.find(ctx, r, d) },
		Wants: func(f *ruleState) *data.Map {
			return change.When(!f.kept || f.unsaved, data.NewMap("locale", a.Name))
		},
		Apply: func(ctx context.Context, f *ruleState) error { return m.do(ctx, r, d, f) },
		Changed: func(_, f *ruleState) *data.Map {
			return change.When(f.done, data.NewMap("locale", a.Name))
		},
		Say:    func(o change.Outcome[*ruleState]) any { return d.comment(o, r) },
		Silent: true,
		Trust:  true, // another rule may follow at the position
	}.Ensure(ctx)
}

// find checks whether a rule exists, and whether the saved rules equal the active ones.
func (m *module) find(ctx context.Context, r rule, d operation) (*ruleState, error) {
	there, err := m.check(ctx, r)
	f := &ruleState{kept: there == d.there && (d.there || !r.hasPosition)}
	if err != nil || !f.kept || !data.Truth(r.save) || !d.there {
		return f, err
	}
	same, err := m.savedAlready(ctx, r.save, r.args.Family)
	f.unsaved = !same
	return f, err
}

// do makes the change and saves the rules.
func (m *module) do(ctx context.Context, r rule, d operation, f *ruleState) (err error) {
	if !f.kept {
		if f.done, err = d.do(ctx, m, r); err != nil {
			return change.Raise(err)
		}
		if !f.done {
			return errors.New(d.text(d.failed, r, ""))
		}
	}
	if data.Truth(r.save) {
		f.out, err = m.save(ctx, r.save, r.args.Family)
	}
	return err
}

// comment returns the comment.
func (d operation) comment(o change.Outcome[*ruleState], r rule) any {
	format, f := d.done, o.Before
	switch {
	case o.Stage == change.StageFailed:
		return nil
	case o.Stage == change.StageWould && f.kept:
		format = d.same + "\niptables rules for {family} need to be saved"
	case o.Stage == change.StageWould:
		format = d.would
	case f.kept && o.Stage == change.StageDone:
		format = d.same + "\nSaved iptables rule {name} for {family}\n{command}\n{saved}"
	case f.kept:
		format = d.same
	case data.Truth(r.save):
		format = d.saved
	}
	return d.text(format, r, f.out)
}

// file returns the path in the argument save, or None for the system's default.
func file(save any) any {
	if save == true {
		return nil
	}
	return save
}

func (m *module) save(ctx context.Context, save, family any) (string, error) {
	out, err := m.call(ctx, "save", file(save), family)
	return data.Str(out), err
}

// savedAlready reports whether the saved rules equal the active ones.
func (m *module) savedAlready(ctx context.Context, save, family any) (bool, error) {
	saved, err := m.call(ctx, "get_saved_rules", file(save), family)
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	now, err := m.call(ctx, "get_rules", family)
	return data.Equal(rulesOf(saved), rulesOf(now)), err
}

// rulesOf returns the rules of all chains in one list.
func rulesOf(tables any) []any {
	var all []any
	list, _ := tables.(*data.Map)
	for _, t := range list.All() {
		chains, _ := t.(*data.Map)
		for _, v := range chains.All() {
			chain, _ := v.(*data.Map)
			all = append(all, chain.Value("rules"))
		}
	}
	return all
}
