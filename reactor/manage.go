package reactor

import (
	"crypto/subtle"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// ManageTag stands in the tags of events by which the runner reactor asks for rules and changes them, behind that of its run.
const ManageTag = "salt/reactors/manage"

// The ends of these tags behind ManageTag.
const (
	listTag      = ManageTag + "/list"
	addTag       = ManageTag + "/add"
	deleteTag    = ManageTag + "/delete"
	isLeaderTag  = ManageTag + "/is_leader"
	setLeaderTag = ManageTag + "/set_leader"
)

func manages(tag string) bool { return strings.Contains(tag, ManageTag) }

// manage does what an event asks for that holds the key of the master's root, and tells of it.
func (r *Reactor) manage(tag string, body *data.Map) {
	i := strings.LastIndex(tag, ManageTag)
	command := tag[i:]
	if !slices.Contains([]string{listTag, addTag, deleteTag, isLeaderTag, setLeaderTag}, command) {
		return // an answer
	}
	if !r.proves(body.Value("key")) {
		r.o.Log.Error("received salt/reactors/manage event without matching master_key. discarding")
		return
	}
	answer := data.NewMap()
	switch command {
	case addTag:
		answer.Set("result", r.add(body.Value("event"), body.Value("reactors")))
		command = ManageTag + "/add-complete"
	case deleteTag:
		answer.Set("result", r.remove(body.Value("event")))
		command = ManageTag + "/delete-complete"
	case listTag:
		command = ManageTag + "/list-results"
	case setLeaderTag:
		if body.Value("id") == r.o.ID {
			r.leader.Store(data.Truth(body.Value("value")))
		}
		fallthrough
	case isLeaderTag:
		answer.Set("result", r.leader.Load())
		command = ManageTag + "/leader/value"
	}
	if command != ManageTag+"/leader/value" {
		answer.Set("reactors", r.list())
	}
	if err := r.o.Bus.Fire(command, answer); err != nil {
		r.o.Log.WithError(err).Errorf("answer %s", command)
	}
}

func (r *Reactor) proves(key any) bool {
	given, _ := key.(string)
	if r.o.Key == nil || given == "" {
		return false
	}
	return subtle.ConstantTimeCompare([]byte(given), []byte(r.o.Key())) == 1
}

func (r *Reactor) list() []any {
	all := []any{}
	for _, rule := range r.live.Load().rules {
		all = append(all, rule.Map())
	}
	return all
}

// maxRules bounds what can be added while the master runs.
const maxRules = 10000

// add adds a rule until the next change of the option.
func (r *Reactor) add(tag, files any) *data.Map {
	r.mu.Lock()
	defer r.mu.Unlock()
	rules := r.live.Load().rules
	if slices.ContainsFunc(rules, func(old Rule) bool { return old.Tag == tag }) {
		return data.NewMap("status", false, "comment", "Reactor already exists.")
	}
	text, ok := tag.(string)
	if !ok {
		return data.NewMap("status", false, "comment", "The tag is no text.")
	}
	rule, err := parseRule(data.NewMap(text, files))
	switch {
	case err != nil:
		return data.NewMap("status", false, "comment", err.Error())
	case len(rules) >= maxRules:
		return data.NewMap("status", false, "comment", "There are too many reactors.")
	}
	r.live.Store(newTable(append(slices.Clone(rules), rule)))
	return data.NewMap("status", true, "comment", "Reactor added.")
}

// remove takes the first rule of a tag away.
func (r *Reactor) remove(tag any) *data.Map {
	r.mu.Lock()
	defer r.mu.Unlock()
	rules := r.live.Load().rules
	i := slices.IndexFunc(rules, func(old Rule) bool { return old.Tag == tag })
	if i < 0 {
		return data.NewMap("status", false, "comment", "Reactor does not exists.")
	}
	r.live.Store(newTable(slices.Delete(slices.Clone(rules), i, i+1)))
	return data.NewMap("status", true, "comment", "Reactor deleted.")
}
