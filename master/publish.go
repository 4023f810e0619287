package master

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// errIncomplete is returned for a publish without a required field.
var errIncomplete = errors.New("publish without tgt, tgt_type, fun or user")

// errUnrecorded is wrapped by the error about a job that was not sent, since it cannot be recorded.
// Clients know its text.
//
//nolint:staticcheck // the command line prints it as a sentence
var errUnrecorded = errors.New("The job was not published since it cannot be recorded")

// publishing handles the command publish (salt/master.py, ClearFuncs.publish).
type publishing struct {
	base
	jobRecords
	gate         *gatekeeper
	fleet        *fleet
	presence     *presence
	progress     *progress
	offline      *offline
	deliveries   *deliveries // nil tracks nothing
	publisher    *channel.Publisher
	masterID     any // master_id of the configuration, or nil
	orderMasters bool
	taken        func(job.ID) bool // reports whether a batch or the queue uses the id
	watchers     *watchers
}

// jobRecords are the places where published jobs are recorded.
type jobRecords struct {
	jobs     returners.JobCache
	markers  *markers
	ext      *extCache
	own      []*ownReturner
	keepJobs bool // job_cache
}

func refusal(name, message string) *data.Map {
	return data.NewMap("error", data.NewMap("name", name, "message", message))
}

func clearReply(load *data.Map) *data.Map { return data.NewMap("enc", "clear", "load", load) }

// publish sends a job to the minions of its target. The target is resolved only after the caller
// has proved who they are.
func (p *publishing) publish(ctx context.Context, c *channel.Command) (any, error) {
	who, load, kwargs, err := p.publisherOf(ctx, c)
	if err != nil {
		return refusedPublish(err), nil
	}
	for _, field := range []string{"tgt", "tgt_type", "fun", "user"} {
		if !load.Has(field) {
			return nil, fmt.Errorf("%w: %s is missing", errIncomplete, field)
		}
	}
	if load.Value("fun") == nil {
		return nil, fmt.Errorf("%w: fun is None", errIncomplete)
	}
	ids, missing, err := p.fleet.resolve(load.Value("tgt"), load.Text("tgt_type"),
		kwargs.Text("delimiter"))
	if err != nil {
		p.log.WithError(err).Warnf("resolve target %s", data.Str(load.Value("tgt")))
	}
	if !p.mayPublish(who, load, ids, c.Caller.Remote) {
		return refusedPublish(auth.ErrNotAuthorized), nil
	}
	if len(ids) == 0 && !p.orderMasters {
		return p.unmatched(load, err), nil
	}
	id, ok := p.jid(ctx, load.Text("jid"))
	if !ok {
		return clearReply(data.NewMap("error", "Master failed to assign jid")), nil
	}
	load.Set("jid", string(id))
	p.watchers.recordInitiator(id, who, c.Caller.Remote)
	send := p.sendTo
	if mayPublishAnywhere(who, load) {
		send = p.send
	}
	sent, err := send(ctx, load, kwargs, ids, missing)
	switch {
	case errors.Is(err, errUnrecorded):
		p.log.WithError(err).Errorf("publish job %s", id)
		return clearReply(data.NewMap("jid", nil, "minions", []any{}, "error", err.Error())), nil
	case err != nil:
		return nil, err
	}
	return clearReply(sent.reply()), nil
}

// mayPublishAnywhere reports whether a user may send this job to any minion, so that the target
// does not matter.
func mayPublishAnywhere(who *auth.Identity, load *data.Map) bool {
	arg, _ := load.Value("arg").([]any)
	return who.MayPublish(auth.Publication{Fun: load.Value("fun"), Arg: arg})
}

// publisherOf authenticates the sender of a publish, and checks the blacklist. It returns the
// sender, the load and its kwargs. Only the credentials are decoded before they are proved. For a
// user who logged in, it sets the user in the load. It deletes the option id, which becomes
// __pub_id, the minion that published; only a peer publication sets it.
func (p *publishing) publisherOf(
	ctx context.Context, c *channel.Command,
) (who *auth.Identity, load, kwargs *data.Map, err error) {
	claim, err := credentialsOf(c)
	user, _ := c.Load.Text("user")
	if err == nil && p.gate.Blocked(user, early(c.Load, "fun")) {
		err = auth.ErrNotAuthorized
	}
	if err == nil {
		who, err = p.gate.Identify(ctx, claim)
	}
	if err == nil {
		load = loadMap(c.Load)
		if p.gate.Blocked(load.Text("user"), load.Value("fun")) ||
			p.gate.Blocked(who.Name, load.Value("fun")) {
			err = auth.ErrNotAuthorized
		}
	}
	if err != nil {
		p.gate.logRefusal("publish", claim.Kind, c.Caller.Remote)
		return nil, nil, nil, err
	}
	kwargs = kwargsOf(load)
	kwargs.Delete("id")
	if who.Kind != auth.ByKey {
		load.Set("user", who.Name)
	}
	return who.Under(kwargs.Value("auth_list")), load, kwargs, nil
}

// mayPublish reports whether a user may send this job to these minions, and logs a refusal.
func (p *publishing) mayPublish(
	who *auth.Identity, load *data.Map, ids []string, from net.Addr,
) bool {
	arg, _ := load.Value("arg").([]any)
	if load.Value("arg") != nil && arg == nil && !who.All() ||
		!who.MayPublish(auth.Publication{Fun: load.Value("fun"), Arg: arg, Minions: ids}) {
		p.gate.logRefusal("publish", who.Kind, from)
		return false
	}
	return true
}

// unmatched returns the reply for a target without minions. Salt does not give the reason; for a
// target that cannot be parsed this reply does.
func (p *publishing) unmatched(load *data.Map, why error) any {
	text := "Master could not resolve minions for target " + data.Str(load.Value("tgt"))
	if why != nil && !errors.Is(why, match.ErrUnknownType) {
		text += ": " + why.Error()
	}
	return clearReply(data.NewMap("jid", nil, "minions", []any{}, "error", text))
}

// jid returns the job id that the caller chose, or a new one. It reports false if the id is in use:
// the record, returns and queue entries of a job belong to its first sender.
func (p *publishing) jid(ctx context.Context, given string) (job.ID, bool) {
	if given == "" {
		return p.ids.Next(), true
	}
	id := job.ID(given)
	if !job.ValidID(id) || p.taken(id) {
		return "", false
	}
	_, err := p.jobs.Job(ctx, id)
	return id, errors.Is(err, returners.ErrUnknownJob)
}

// send publishes a job to its target. The error wraps errUnrecorded if the job cannot be recorded.
func (p *publishing) send(
	ctx context.Context, load, kwargs *data.Map, ids, missing []string,
) (*sentJob, error) {
	pub, err := p.publication(load, kwargs)
	if err != nil {
		return nil, err
	}
	return p.deliver(ctx, pub, load, kwargs, recipients{ids, missing})
}

// sendTo publishes a job only to the minions for which the sender's rights were checked, whatever
// its target is. A minion knows more about itself than the master does, so it could match a target
// that the master did not expect it to match.
func (p *publishing) sendTo(
	ctx context.Context, load, kwargs *data.Map, ids, missing []string,
) (*sentJob, error) {
	pub, err := p.publication(load, kwargs)
	if err != nil {
		return nil, err
	}
	pub.Target, pub.TargetType, pub.Delimiter = data.Values(ids), "list", ""
	return p.deliver(ctx, pub, load, kwargs, recipients{ids, missing})
}

// recipients are the minions of a resolved target.
type recipients struct {
	ids     []string // with an accepted key
	missing []string // named, but without an accepted key
}

// A sentJob is a job that was sent to its minions.
type sentJob struct {
	id job.ID
	recipients
	absent []string  // not connected
	queued []string  // those of absent for which the job is queued
	until  time.Time // when the queued job expires, if queued is not empty
}

// reply returns the fields by which a client learns about the job.
func (s *sentJob) reply() *data.Map {
	reply := data.NewMap("jid", string(s.id), "minions", data.Values(s.ids),
		"missing", data.Values(s.missing), "absent", data.Values(s.absent))
	if len(s.queued) > 0 {
		reply.Set("queued", data.Values(s.queued))
		reply.Set("queued_until", s.until.Unix())
	}
	return reply
}

// deliver records a job, announces it and sends it to the minions, in this order: a job that a
// client learns of is on disk. The error wraps errUnrecorded if it cannot be recorded.
func (p *publishing) deliver(
	ctx context.Context, pub *job.Publication, load, kwargs *data.Map, to recipients,
) (*sentJob, error) {
	id := pub.JID
	j := &returners.Job{ID: id, Minions: to.ids, Missing: to.missing,
		Absent: p.presence.Absent(to.ids)}
	if err := p.save(ctx, load, kwargs, j); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnrecorded, err)
	}
	sent := &sentJob{id: id, recipients: to, absent: j.Absent}
	sent.queued, sent.until = p.offline.put(context.WithoutCancel(ctx), load, kwargs, j)
	p.deliveries.begin(load, kwargs, j)
	if err := p.announce(load, pub, to); err != nil {
		p.log.WithError(err).Errorf("announce job %s", id)
	}
	if err := p.publisher.Publish(pub, topicIDs(pub.TargetType, to)); err != nil {
		return nil, err
	}
	p.log.Infof("User %s Published command %s with jid %s", data.Str(load.Value("user")),
		data.Str(load.Value("fun")), id)
	return sent, nil
}

// save records a job in the job cache, ext_job_cache and the markers.
func (p *publishing) save(ctx context.Context, load, kwargs *data.Map, j *returners.Job) error {
	raw, err := payload.MarshalBin(withoutSecrets(load, kwargs))
	if err != nil {
		return err
	}
	j.Load, j.NoCache, j.Started = raw, data.Truth(kwargs.Value("nocache")) || !p.keepJobs, p.now()
	if err := p.jobs.SaveJob(ctx, j); err != nil {
		return err
	}
	p.ext.add(j)
	for _, o := range p.own {
		o.addJob(j)
	}
	err = p.markers.add(j.ID, j)
	if user := load.Text("user"); err == nil && user != "root" &&
		user != p.fleet.settings.config().User {
		err = p.markers.share(j.ID, load)
	}
	if err != nil {
		p.log.WithError(err).Warnf("Salt's own command line will not wait for job %s", j.ID)
	}
	return nil
}

// withoutSecrets returns a copy of a load that may be stored: without the key and the credentials
// in its kwargs.
func withoutSecrets(load, kwargs *data.Map) *data.Map {
	load = load.Clone()
	load.Delete("key")
	if kwargs.Has("token") || kwargs.Has("password") {
		kwargs = kwargs.Clone()
		if kwargs.Has("token") {
			kwargs.Set("token", nil) // marks a job of a login: see keyUser
		}
		kwargs.Delete("password")
		load.Set("kwargs", kwargs)
	}
	return load
}

// announce fires the events for a publication, both Salt 3006's and 3007's.
func (p *publishing) announce(load *data.Map, pub *job.Publication, to recipients) error {
	id := string(pub.JID)
	err := p.bus.Fire(id, data.NewMap("minions", data.Values(to.ids)))
	news := data.NewMap("jid", id, "tgt_type", load.Value("tgt_type"), "tgt", load.Value("tgt"),
		"user", load.Value("user"), "fun", load.Value("fun"), "arg", load.Value("arg"),
		"minions", data.Values(to.ids), "missing", data.Values(to.missing))
	return errors.Join(err,
		p.bus.Fire(eventbus.Tagify("job", id, "new"), news),
		p.bus.Fire(eventbus.Tagify("job", id, "publish"), pub.Map()))
}

// publication builds the message for minions from a load (salt/master.py, _prep_pub).
func (p *publishing) publication(load, kwargs *data.Map) (*job.Publication, error) {
	m := data.NewMap()
	for _, name := range []string{"fun", "arg", "tgt", "jid", "ret"} {
		m.Set(name, load.Value(name))
	}
	if p.masterID != nil {
		m.Set("master_id", p.masterID)
	}
	copyFields(m, kwargs, "master_id")
	if d := kwargs.Text("delimiter"); d != "" && d != ":" {
		m.Set("delimiter", d)
	}
	copyFields(m, kwargs, "id")
	copyFields(m, load, "tgt_type")
	if p.orderMasters {
		copyFields(m, load, "to")
	}
	copyFields(m, kwargs, "ret_config", "metadata", "module_executors", "executor_opts",
		"ret_kwargs")
	copyFields(m, load, "user")
	if m.Value("arg") == nil {
		m.Set("arg", []any{})
	}
	if m.Value("ret") == nil {
		m.Set("ret", "")
	}
	return job.ParsePublication(m)
}

func copyFields(to, from *data.Map, names ...string) {
	for _, n := range names {
		if v, ok := from.Get(n); ok {
			to.Set(n, v)
		}
	}
}

// topicIDs returns the minions that a publication is addressed to individually, or nil if it is for
// all (salt/transport/zeromq.py, publish_payload).
func topicIDs(kind string, to recipients) []string {
	switch kind {
	case "glob", "pcre":
		return append([]string{}, to.ids...)
	case "list":
		return append(append([]string{}, to.ids...), to.missing...)
	}
	return nil
}

// kwargsOf returns the kwargs of a publish load: the options of the job that are not sent as its
// arguments. It returns nil, which is an empty map, if there are none.
func kwargsOf(load *data.Map) *data.Map {
	kwargs, _ := load.Value("kwargs").(*data.Map)
	return kwargs
}

// loadMap decodes fields. It may use much memory, so the sender must be authenticated.
func loadMap(fields payload.Fields) *data.Map {
	m := data.NewMap()
	for _, f := range fields {
		m.Set(f.Key, fields.Value(f.Key))
	}
	return m
}
