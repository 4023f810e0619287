package reactor

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
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

// The tags of answers, which have nothing before ManageTag.
const (
	listed      = ManageTag + "/list-results"
	added       = ManageTag + "/add-complete"
	deleted     = ManageTag + "/delete-complete"
	leaderValue = ManageTag + "/leader/value"
)

func manages(tag string) bool { return strings.Contains(tag, ManageTag) }

// Private reports whether a tag is one by which the rules may be changed: in the event stands the key of the master's root
// where Salt's runner fired it, so nobody but the reactor may see it. The answers are for all.
func Private(tag string) bool {
	return manages(tag) && !slices.Contains([]string{listed, added, deleted, leaderValue}, tag)
}

// Sign puts into the body of a command, which is the end of its tag, the proof that whoever asks knows the key: an HMAC of SHA-256
// under proof, in which a random nonce goes in. The key does not stand in it.
func Sign(key, command string, body *data.Map) {
	body.Set("nonce", rand.Text())
	body.Set("proof", proof(key, command, body))
}

// proof covers everything in a body that a command goes by.
func proof(key, command string, body *data.Map) string {
	h := hmac.New(sha256.New, []byte(key))
	covered := []any{command}
	for _, name := range []string{"nonce", "event", "reactors", "id", "value"} {
		covered = append(covered, body.Value(name))
	}
	_, _ = h.Write([]byte(data.Repr(covered))) // a hash takes everything
	return hex.EncodeToString(h.Sum(nil))
}

// manage does what an event asks for that proves the key of the master's root, and tells of it.
func (r *Reactor) manage(tag string, body *data.Map) {
	i := strings.LastIndex(tag, ManageTag)
	command := tag[i:]
	if !slices.Contains([]string{listTag, addTag, deleteTag, isLeaderTag, setLeaderTag}, command) {
		return // an answer
	}
	if !r.proves(strings.TrimPrefix(command, ManageTag+"/"), body) {
		r.o.Log.Error("received salt/reactors/manage event without matching master_key. discarding")
		return
	}
	answer := data.NewMap()
	switch command {
	case addTag:
		answer.Set("result", r.add(body.Value("event"), body.Value("reactors")))
		command = added
	case deleteTag:
		answer.Set("result", r.remove(body.Value("event")))
		command = deleted
	case listTag:
		command = listed
	case setLeaderTag:
		if body.Value("id") == r.o.ID {
			r.leader.Store(data.Truth(body.Value("value")))
		}
		fallthrough
	case isLeaderTag:
		answer.Set("result", r.leader.Load())
		command = leaderValue
	}
	if command != leaderValue {
		answer.Set("reactors", r.list())
	}
	if err := r.o.Bus.Fire(command, answer); err != nil {
		r.o.Log.WithError(err).Errorf("answer %s", command)
	}
}

func (r *Reactor) proves(command string, body *data.Map) bool {
	if r.o.Key == nil {
		return false
	}
	key, given := r.o.Key(), body.Text("key")
	if body.Has("proof") {
		given = body.Text("proof")
		if key != "" {
			key = proof(key, command, body)
		}
	}
	return key != "" && subtle.ConstantTimeCompare([]byte(given), []byte(key)) == 1
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
