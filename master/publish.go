package master

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// jobID is what a caller may give as id of its job. Salt takes any text; ids become names of files on minions.
var jobID = regexp.MustCompile(`^[0-9A-Za-z_][0-9A-Za-z_-]*$`)

// isJobID also bounds the id's length, which in the expression would cost a copy of the class for each letter.
func isJobID(id string) bool { return len(id) <= 64 && jobID.MatchString(id) }

// errIncomplete is the answer to a publish without the fields that it cannot do without.
var errIncomplete = errors.New("publish without tgt, tgt_type, fun or user")

// publishing does the command publish (salt/master.py, ClearFuncs.publish).
type publishing struct {
	gate         *gatekeeper
	fleet        *fleet
	jobs         returners.JobCache
	markers      *markers
	ext          *extCache
	presence     *presence
	progress     *progress
	offline      *offline
	deliveries   *deliveries // nil watches nothing
	bus          *eventbus.Bus
	publisher    *channel.Publisher
	ids          *job.IDs
	masterID     any // master_id of the configuration, or nil
	orderMasters bool
	keepJobs     bool              // job_cache
	taken        func(job.ID) bool // a batch or the queue has the id
	watchers     *watchers
	quiet        *loglimit.Limiter
	now          func() time.Time
	log          logrus.FieldLogger
}

func refusal(name, message string) *data.Map {
	return data.NewMap("error", data.NewMap("name", name, "message", message))
}

func clearReply(load *data.Map) *data.Map { return data.NewMap("enc", "clear", "load", load) }

// publish sends a job to the minions that its target names. Whom it names is looked up only for those who have proved
// themselves.
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
	ids, missing, err := p.fleet.resolve(load.Value("tgt"), load.Text("tgt_type"), kwargs.Text("delimiter"))
	if err != nil {
		p.log.WithError(err).Warnf("target %s", data.Str(load.Value("tgt")))
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
	p.watchers.note(id, who, c.Caller.Remote)
	if mayPublishAnywhere(who, load) {
		return p.send(ctx, load, kwargs, ids, missing)
	}
	return p.sendTo(ctx, load, kwargs, ids, missing)
}

// mayPublishAnywhere reports whether a user may send this job to any minion, so that it does not matter whom the target names.
func mayPublishAnywhere(who *auth.Identity, load *data.Map) bool {
	arg, _ := load.Value("arg").([]any)
	return who.MayPublish(auth.Publication{Fun: load.Value("fun"), Arg: arg})
}

// publisherOf returns who sends a publish, whom the blacklist does not stop, and its load with the options in it. Nothing but the
// credentials is decoded before they are proved. The name of a user who logged in is put into the load. The field id is taken out
// of the options: it names the minion that asked, as __pub_id, and only a peer publication sets it.
func (p *publishing) publisherOf(ctx context.Context, c *channel.Command) (who *auth.Identity, load, kwargs *data.Map, err error) {
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
		if p.gate.Blocked(load.Text("user"), load.Value("fun")) || p.gate.Blocked(who.Name, load.Value("fun")) {
			err = auth.ErrNotAuthorized
		}
	}
	if err != nil {
		p.gate.logRefusal("publish", claim.Kind, c.Caller.Remote)
		return nil, nil, nil, err
	}
	kwargs, _ = load.Value("kwargs").(*data.Map)
	kwargs.Delete("id")
	if who.Kind != auth.ByKey {
		load.Set("user", who.Name)
	}
	return who.Under(kwargs.Value("auth_list")), load, kwargs, nil
}

// mayPublish reports whether a user may send this job to these minions.
func (p *publishing) mayPublish(who *auth.Identity, load *data.Map, ids []string, from net.Addr) bool {
	arg, _ := load.Value("arg").([]any)
	if load.Value("arg") != nil && arg == nil && !who.All() || !who.MayPublish(auth.Publication{Fun: load.Value("fun"), Arg: arg, Minions: ids}) {
		p.gate.logRefusal("publish", who.Kind, from)
		return false
	}
	return true
}

// unmatched is the reply when no minion is named. Salt does not say why; a target that cannot be read deserves it.
func (p *publishing) unmatched(load *data.Map, why error) any {
	text := "Master could not resolve minions for target " + data.Str(load.Value("tgt"))
	if why != nil && !errors.Is(why, match.ErrUnknownType) {
		text += ": " + why.Error()
	}
	return clearReply(data.NewMap("jid", nil, "minions", []any{}, "error", text))
}

// jid returns the id that a caller gives, or a new one. The id of a job that there is already is refused: its record, its returns and
// what is queued of it are of who gave that order.
func (p *publishing) jid(ctx context.Context, given string) (job.ID, bool) {
	if given == "" {
		return p.ids.Next(), true
	}
	id := job.ID(given)
	if !isJobID(given) || p.taken(id) {
		return "", false
	}
	_, err := p.jobs.Job(ctx, id)
	return id, errors.Is(err, returners.ErrUnknownJob)
}

// send publishes a job for the minions of its target.
func (p *publishing) send(ctx context.Context, load, kwargs *data.Map, ids, missing []string) (any, error) {
	pub, err := p.publication(load, kwargs)
	if err != nil {
		return nil, err
	}
	return p.deliver(ctx, pub, load, kwargs, ids, missing)
}

// sendTo publishes a job for the minions that its sender's rights were judged for, whatever its target says. A minion
// knows more of itself than the master does, and could find itself in a target in which the master did not find it.
func (p *publishing) sendTo(ctx context.Context, load, kwargs *data.Map, ids, missing []string) (any, error) {
	pub, err := p.publication(load, kwargs)
	if err != nil {
		return nil, err
	}
	pub.Target, pub.TargetType, pub.Delimiter = data.Values(ids), "list", ""
	return p.deliver(ctx, pub, load, kwargs, ids, missing)
}

// deliver records a job, announces it and gives it to the minions, in this order: what a client is told of is on disk.
func (p *publishing) deliver(
	ctx context.Context, pub *job.Publication, load, kwargs *data.Map, ids, missing []string,
) (any, error) {
	id := pub.JID
	j := &returners.Job{ID: id, Minions: ids, Missing: missing, Absent: p.presence.absent(ids)}
	if err := p.save(ctx, load, kwargs, j); err != nil {
		p.log.WithError(err).Errorf("record job %s", id)
		text := fmt.Sprintf("The job was not published since it cannot be recorded: %v", err)
		return clearReply(data.NewMap("jid", nil, "minions", []any{}, "error", text)), nil
	}
	queued, until := p.offline.put(load, kwargs, j)
	p.deliveries.begin(load, kwargs, j)
	if err := p.announce(load, pub, ids, missing); err != nil {
		p.log.WithError(err).Errorf("announce job %s", id)
	}
	if err := p.publisher.Publish(pub, topicIDs(pub.TargetType, ids, missing)); err != nil {
		return nil, err
	}
	p.log.Infof("User %s Published command %s with jid %s", data.Str(load.Value("user")), data.Str(load.Value("fun")), id)
	reply := data.NewMap("jid", string(id), "minions", data.Values(ids), "missing", data.Values(missing), "absent", data.Values(j.Absent))
	if len(queued) > 0 {
		reply.Set("queued", data.Values(queued))
		reply.Set("queued_until", until.Unix())
	}
	return clearReply(reply), nil
}

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
	err = p.markers.add(j.ID, j)
	if user := load.Text("user"); err == nil && user != "root" && user != p.fleet.settings.now().User {
		err = p.markers.share(j.ID, load)
	}
	if err != nil {
		p.log.WithError(err).Warn("Salt's own command line will not wait for a job")
	}
	return nil
}

// withoutSecrets returns a copy of a load that may be kept: without its key and the credentials among its options.
func withoutSecrets(load, kwargs *data.Map) *data.Map {
	load = load.Clone()
	load.Delete("key")
	if kwargs.Has("token") || kwargs.Has("password") {
		kwargs = kwargs.Clone()
		if kwargs.Has("token") {
			kwargs.Set("token", nil) // the job is that of a login: see keyUser
		}
		kwargs.Delete("password")
		load.Set("kwargs", kwargs)
	}
	return load
}

// pingConnected makes minions notice that the session key is another (salt/utils/master.py, ping_all_connected_minions).
func (p *publishing) pingConnected(ctx context.Context, who *presence, known bool) {
	load := data.NewMap("cmd", "publish", "tgt", "*", "fun", "test.ping", "arg", []any{}, "tgt_type", "glob", "ret", "", "user", p.fleet.settings.now().User)
	if known {
		load.Set("tgt", data.Values(who.connected()))
		load.Set("tgt_type", "list")
	}
	ids, missing, err := p.fleet.resolve(load.Value("tgt"), load.Text("tgt_type"), "")
	if err == nil && len(ids) > 0 {
		id := p.ids.Next()
		load.Set("jid", string(id))
		_, err = p.send(ctx, load, nil, ids, missing)
	}
	if err != nil {
		p.log.WithError(err).Error("ping minions after a rotation of the session key")
	}
}

// announce fires the events that a publication has, those of Salt 3006 and of 3007.
func (p *publishing) announce(load *data.Map, pub *job.Publication, ids, missing []string) error {
	id := string(pub.JID)
	err := p.bus.Fire(id, data.NewMap("minions", data.Values(ids)))
	news := data.NewMap("jid", id, "tgt_type", load.Value("tgt_type"), "tgt", load.Value("tgt"), "user", load.Value("user"),
		"fun", load.Value("fun"), "arg", load.Value("arg"), "minions", data.Values(ids), "missing", data.Values(missing))
	return errors.Join(err,
		p.bus.Fire(eventbus.Tagify("job", id, "new"), news),
		p.bus.Fire(eventbus.Tagify("job", id, "publish"), pub.Map()))
}

// publication makes what minions get of a load (salt/master.py, _prep_pub).
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
	copyFields(m, kwargs, "ret_config", "metadata", "module_executors", "executor_opts", "ret_kwargs")
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

// topicIDs returns the minions that a publication is addressed to one by one, or nil when it is for all
// (salt/transport/zeromq.py, publish_payload).
func topicIDs(kind string, ids, missing []string) []string {
	switch kind {
	case "glob", "pcre":
		return append([]string{}, ids...)
	case "list":
		return append(append([]string{}, ids...), missing...)
	}
	return nil
}

// loadMap returns fields as values. It takes as much memory as the sender likes, who must be known.
func loadMap(fields payload.Fields) *data.Map {
	m := data.NewMap()
	for _, f := range fields {
		m.Set(f.Key, fields.Value(f.Key))
	}
	return m
}
