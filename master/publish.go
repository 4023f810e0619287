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
	"github.com/brineproject/brine/master/queue"
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
	cluster      orderLog // nil if this master is alone
	masterID     any      // master_id of the configuration, or nil
	orderMasters bool
	syndics      *syndics          // nil if there are none
	taken        func(job.ID) bool // reports whether a batch or the queue uses the id
	watchers     *watchers
}

// An orderLog brings jobs to all masters of a cluster, in one order. Each master carries them out for
// its own minions.
type orderLog interface {
	// order returns once this master has carried out the order. The error wraps errUnrecorded if
	// nothing was sent, or errTaken if another job has the id.
	order(ctx context.Context, o *order, sent *sentJob) (*sentJob, error)
	// again sends a publication of an earlier job to minions, wherever they are connected.
	again(ctx context.Context, pub *job.Publication, minions []string, queued bool) error
	// unqueue takes a job from the queues of all members. It returns once this one has done so. The
	// error wraps errUnrecorded if none does.
	unqueue(ctx context.Context, u unqueued) error
	// mayLead returns an error if a later leader is at work, as far as a majority knows.
	mayLead(ctx context.Context) error
}

// A doubt is the error about an order that the cluster may have taken, and may not.
type doubt struct {
	about string // such as "job 20260101000000000000"
	err   error
}

func (d *doubt) Error() string {
	return fmt.Sprintf("it is unknown whether %s was published: %v", d.about, d.err)
}

func (d *doubt) Unwrap() error { return d.err }

// errTaken is wrapped if another master of the cluster has given the same id to a job. Clients know its
// text.
var errTaken = errors.New("another job has this id")

// mayLead returns an error if another master of the cluster leads.
func (p *publishing) mayLead(ctx context.Context) error {
	if p.cluster == nil {
		return nil
	}
	return p.cluster.mayLead(ctx)
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
	if len(ids) == 0 && (!p.orderMasters || err != nil) {
		return p.unmatched(load, err), nil
	}
	given := load.Text("jid")
	id, ok := p.jid(ctx, given)
	step := false
	if !ok && p.isStep(ctx, who, load, kwargs) {
		id, ok, step = job.ID(given), true, true
	}
	if !ok {
		return clearReply(data.NewMap("error", "Master failed to assign jid")), nil
	}
	send := p.sendTo
	if mayPublishAnywhere(who, load) {
		send = p.send
	}
	if p.cluster != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, replyTime(load))
		defer cancel()
	}
	to := recipients{ids: ids, missing: missing, rights: who.AuthList(), step: step}
	for {
		load.Set("jid", string(id))
		p.watchers.recordInitiator(id, who, c.Caller.Remote)
		sent, err := send(ctx, load, kwargs, to)
		var unknown *doubt
		switch {
		case errors.Is(err, errTaken) && given == "":
			id = p.ids.Next()
		case errors.Is(err, errUnrecorded), errors.Is(err, errTaken):
			p.log.WithError(err).Errorf("publish job %s", id)
			return clearReply(data.NewMap("jid", nil, "minions", []any{}, "error", err.Error())), nil
		case errors.As(err, &unknown):
			p.log.WithError(err).Errorf("publish job %s", id)
			return clearReply(data.NewMap("error", data.NewMap("name", "PublishError", "message", err.Error()))), nil
		case err != nil:
			return nil, err
		default:
			return clearReply(sent.reply()), nil
		}
	}
}

// replyTime returns how long an order may wait for the cluster: three quarters of the time after which the
// client gives up, so that it gets a reply before.
func replyTime(load *data.Map) time.Duration {
	seconds, _ := load.Value("timeout").(int64)
	wait := max(clientTime, time.Duration(min(max(seconds, 0), 3600))*time.Second)
	return min(wait*3/4, orderTime)
}

// clientTime is how long a client waits at least. Salt's own does not tell its time.
const clientTime = 5 * time.Second

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

// isStep reports whether an order is a further step of a batch that an upper master runs. Such an order
// comes from a syndic, as the job of that id did, and differs from it only in the target. With the same
// target it is the same order: another syndic, of another master of the cluster, has given it.
func (p *publishing) isStep(
	ctx context.Context, who *auth.Identity, load, kwargs *data.Map,
) bool {
	id := job.ID(load.Text("jid"))
	if who.Kind != auth.ByKey || who.Name != p.fleet.settings.config().User ||
		!kwargs.Has("auth_list") || !job.ValidID(id) || p.taken(id) {
		return false
	}
	known, err := p.jobs.Job(ctx, id)
	if err != nil {
		return false
	}
	stored, err := payload.UnmarshalText(known.Load, payload.WireLimits())
	m, ok := stored.(*data.Map)
	same := func(name string) bool { return data.Equal(m.Value(name), load.Value(name)) }
	return err == nil && ok && kwargsOf(m).Has("auth_list") && same("fun") && same("arg") &&
		(!same("tgt") || !same("tgt_type"))
}

// send publishes a job to its target. The error wraps errUnrecorded if the job cannot be recorded.
func (p *publishing) send(
	ctx context.Context, load, kwargs *data.Map, to recipients,
) (*sentJob, error) {
	pub, err := p.publication(load, kwargs, to.rights)
	if err != nil {
		return nil, err
	}
	if p.orderMasters && to.own {
		keepOwn(pub)
	}
	return p.deliver(ctx, order{pub: pub, load: load, kwargs: kwargs}, to)
}

// sendTo publishes a job only to the minions for which the sender's rights were checked, whatever
// its target is. A minion knows more about itself than the master does, so it could match a target
// that the master did not expect it to match. Syndics get the target as it is, with the rights of the
// sender: lower masters check them against their own minions.
func (p *publishing) sendTo(
	ctx context.Context, load, kwargs *data.Map, to recipients,
) (*sentJob, error) {
	pub, err := p.publication(load, kwargs, to.rights)
	if err != nil {
		return nil, err
	}
	o := order{pub: pub, load: load, kwargs: kwargs}
	if p.orderMasters && !to.own {
		below := *pub
		o.below = &below
	}
	if p.orderMasters {
		keepOwn(pub)
	}
	pub.Target, pub.TargetType, pub.Delimiter = data.Values(to.ids), "list", ""
	return p.deliver(ctx, o, to)
}

// keepOwn makes a publication one that syndics do not pass on. Those of Salt do, but its target is a
// list of minions that are not behind them.
func keepOwn(pub *job.Publication) {
	if pub.Extra == nil {
		pub.Extra = data.NewMap()
	}
	pub.Extra.Set(job.OwnMinions, true)
}

// An order is a job that is about to be sent.
type order struct {
	pub          *job.Publication // nil if the job is only recorded
	below        *job.Publication // for syndics; nil if they get pub
	load, kwargs *data.Map        // as ordered

	own    *returners.Job // with the minions of this master, or of all masters of its cluster
	record *returners.Job // as stored, with minions behind syndics
	queue  *queue.Item    // what is queued for minions that are away; nil if nothing is
	serial int64          // of the publication; 0 means the next one of this master
	remote bool           // another master of the cluster took the order
	// other masters of the cluster have sent it before this one started
	sentBefore bool
}

// recipients are the minions of a resolved target.
type recipients struct {
	ids     []string // with an accepted key
	missing []string // named, but without an accepted key
	rights  []any    // of the sender, for lower masters; empty means all
	own     bool     // syndics do not pass the job on
	step    bool     // a further step of a job
}

// A sentJob is a job that was sent to its minions.
type sentJob struct {
	id job.ID
	recipients
	absent []string  // not connected
	queued []string  // those of absent for which the job is queued
	until  time.Time // when the queued job expires, if queued is not empty
	tier   tier
}

// reply returns the fields by which a client learns about the job.
func (s *sentJob) reply() *data.Map {
	reply := s.tier.reply()
	reply.Update(data.NewMap("jid", string(s.id), "minions", data.Values(s.ids),
		"missing", data.Values(s.missing), "absent", data.Values(s.absent)))
	if len(s.queued) > 0 {
		reply.Set("queued", data.Values(s.queued))
		reply.Set("queued_until", s.until.Unix())
	}
	return reply
}

// deliver records a job, announces it and sends it to the minions. The error wraps errUnrecorded if
// it cannot be recorded.
func (p *publishing) deliver(ctx context.Context, o order, to recipients) (*sentJob, error) {
	sent, err := p.address(ctx, &o, to)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnrecorded, err)
	}
	if p.cluster != nil {
		return p.cluster.order(ctx, &o, sent)
	}
	return sent, p.carryOut(ctx, &o, sent)
}

// address decides who gets a job, and what is stored of it.
func (p *publishing) address(ctx context.Context, o *order, to recipients) (*sentJob, error) {
	to.ids = p.syndics.onlyMinions(to.ids)
	sent := &sentJob{id: o.pub.JID, recipients: to, absent: p.presence.Absent(to.ids)}
	if !to.own {
		sent.tier = p.tierOf(o)
	}
	o.own = &returners.Job{ID: o.pub.JID, Minions: to.ids, Missing: to.missing, Absent: sent.absent}
	if err := p.describe(o.own, o.load, o.kwargs); err != nil {
		return nil, err
	}
	o.record = sent.extend(o.own)
	o.queue = p.offline.plan(context.WithoutCancel(ctx), o.load, o.kwargs, o.own)
	return sent, nil
}

// tierOf returns what an order reaches through the syndics of this master.
func (p *publishing) tierOf(o *order) tier {
	return p.syndics.tier(o.load.Value("tgt"), o.load.Text("tgt_type"), o.kwargs.Text("delimiter"))
}

// carryOut records a job, announces it and sends it to the minions, in this order: a job that a client
// learns of is on disk. The error wraps errUnrecorded if it cannot be recorded.
func (p *publishing) carryOut(ctx context.Context, o *order, sent *sentJob) error {
	if err := p.store(ctx, o); err != nil {
		return fmt.Errorf("%w: %w", errUnrecorded, err)
	}
	if o.pub == nil {
		return nil
	}
	if o.queue != nil {
		sent.queued, sent.until = p.offline.store(*o.queue), o.queue.Expires
	}
	p.deliveries.begin(o.load, o.kwargs, o.own)
	if o.sentBefore {
		return nil
	}
	if err := p.announce(o, sent); err != nil {
		p.log.WithError(err).Errorf("announce job %s", sent.id)
	}
	if err := p.transmit(o, sent); err != nil {
		return err
	}
	p.log.Infof("User %s Published command %s with jid %s", data.Str(o.load.Value("user")),
		data.Str(o.load.Value("fun")), sent.id)
	return nil
}

// withoutRights returns a publication without the rights of its sender, which concern lower masters.
func withoutRights(pub *job.Publication) *data.Map {
	m := pub.Map()
	m.Delete("auth_list")
	return m
}

// transmit sends the publications of a job to syndics and minions.
func (p *publishing) transmit(o *order, sent *sentJob) error {
	serial := o.serial
	if o.below != nil {
		if err := p.publisher.PublishToSyndics(o.below, sent.tier.syndics, serial); err != nil {
			return err
		}
	}
	if serial > 0 {
		serial++ // of two that a syndic may get, the second has a number of its own
	}
	return p.publisher.Publish(o.pub, topicIDs(o.pub.TargetType, o.own), serial)
}

// save records a job that is not sent as it is.
func (p *publishing) save(ctx context.Context, load, kwargs *data.Map, j *returners.Job) error {
	if err := p.describe(j, load, kwargs); err != nil {
		return err
	}
	o := &order{load: load, kwargs: kwargs, own: j, record: j}
	if p.cluster != nil {
		_, err := p.cluster.order(ctx, o, &sentJob{id: j.ID})
		return err
	}
	return p.store(ctx, o)
}

// describe sets what the record of a job says about it, except its minions.
func (p *publishing) describe(j *returners.Job, load, kwargs *data.Map) error {
	raw, err := payload.MarshalBin(withoutSecrets(load, kwargs))
	if err != nil {
		return err
	}
	j.Load, j.NoCache, j.Started = raw, data.Truth(kwargs.Value("nocache")) || !p.keepJobs, p.now()
	return nil
}

// store records a job in the job cache and the markers, and if this master took the order in the
// other places of jobs.
func (p *publishing) store(ctx context.Context, o *order) error {
	j := o.record
	if err := p.jobs.SaveJob(ctx, j); err != nil {
		return err
	}
	if !o.remote {
		p.ext.add(j)
		for _, o := range p.own {
			o.addJob(j)
		}
	}
	err := p.markers.add(j.ID, j)
	if user := o.load.Text("user"); err == nil && user != "root" &&
		user != p.fleet.settings.config().User {
		err = p.markers.share(j.ID, o.load)
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
// The first one also names the syndics whose minions this master does not know.
func (p *publishing) announce(o *order, sent *sentJob) error {
	id, load := string(o.pub.JID), o.load
	first := data.NewMap("minions", data.Values(sent.ids))
	if len(sent.tier.unsure) > 0 {
		first.Set("syndics", data.Values(sent.tier.unsure))
	}
	err := p.bus.FireHere(id, first)
	news := data.NewMap("jid", id, "tgt_type", load.Value("tgt_type"), "tgt", load.Value("tgt"),
		"user", load.Value("user"), "fun", load.Value("fun"), "arg", load.Value("arg"),
		"minions", data.Values(sent.ids), "missing", data.Values(sent.missing))
	return errors.Join(err,
		p.bus.FireHere(eventbus.Tagify("job", id, "new"), news),
		p.bus.FireHere(eventbus.Tagify("job", id, "publish"), withoutRights(o.pub)))
}

// publication builds the message for minions from a load (salt/master.py, _prep_pub and publish).
// rights are those of the sender, for lower masters.
func (p *publishing) publication(load, kwargs *data.Map, rights []any) (*job.Publication, error) {
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
		m.Set("auth_list", append([]any{}, rights...))
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
func topicIDs(kind string, to *returners.Job) []string {
	switch kind {
	case "glob", "pcre":
		return append([]string{}, to.Minions...)
	case "list":
		return append(append([]string{}, to.Minions...), to.Missing...)
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
