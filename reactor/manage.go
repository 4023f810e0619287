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

// ManageTag is part of the tags of events with which the runner reactor lists and changes rules. It
// follows the tag prefix of the run.
const ManageTag = "salt/reactors/manage"

// Suffixes of these tags after ManageTag.
const (
	listTag      = ManageTag + "/list"
	addTag       = ManageTag + "/add"
	deleteTag    = ManageTag + "/delete"
	isLeaderTag  = ManageTag + "/is_leader"
	setLeaderTag = ManageTag + "/set_leader"
)

// Tags of replies, which begin with ManageTag.
const (
	listed      = ManageTag + "/list-results"
	added       = ManageTag + "/add-complete"
	deleted     = ManageTag + "/delete-complete"
	leaderValue = ManageTag + "/leader/value"
)

func manages(tag string) bool { return strings.Contains(tag, ManageTag) }

// Private reports whether a tag may belong to a request that changes rules. Events of Salt's runner
// contain the key of the master's root, so only the reactor may see them. Replies are public.
func Private(tag string) bool {
	return manages(tag) && !slices.Contains([]string{listed, added, deleted, leaderValue}, tag)
}

// Sign adds to the body of a command, identified by its tag suffix, the proof that the sender knows
// the key: an HMAC-SHA256 under proof, which covers a random nonce. The key itself is not included.
func Sign(key, command string, body *data.Map) {
	body.Set("nonce", rand.Text())
	body.Set("proof", proof(key, command, body))
}

// proof covers everything in a body that affects the command.
func proof(key, command string, body *data.Map) string {
	h := hmac.New(sha256.New, []byte(key))
	covered := []any{command}
	for _, name := range []string{"nonce", "event", "reactors", "id", "value"} {
		covered = append(covered, body.Value(name))
	}
	_, _ = h.Write([]byte(data.Repr(covered))) // never fails
	return hex.EncodeToString(h.Sum(nil))
}

// manage executes a request that proves knowledge of the root key, and fires the reply.
func (r *Reactor) manage(tag string, body *data.Map) {
	i := strings.LastIndex(tag, ManageTag)
	command := tag[i:]
	if !slices.Contains([]string{listTag, addTag, deleteTag, isLeaderTag, setLeaderTag}, command) {
		return // a reply
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

// maxRules is the maximum number of rules that can be added at run time.
const maxRules = 10000

// add adds a rule until the option is next changed.
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

// remove removes the first rule with a tag.
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
