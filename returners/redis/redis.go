// Package redis is Salt's returner of that name (salt/returners/redis_return.py): returns and a
// master's job cache in a Redis server.
//
// Options are below redis.: host ("salt"), port (6379), password, db ("0"), unix_socket_path, and
// for a cluster cluster_mode with cluster.startup_nodes, a list of host and port.
//
// The keys are Salt's: load:JID, the load as JSON; ret:JID, a hash of minion to return as JSON;
// MINION:FUN, the ID of the last job of a function; and the set minions. All but minions expire
// after keep_jobs_seconds. They do not suffice for a [returners.JobCache], so a job cache also has
// keys of its own, which begin with brine: and expire an hour later. One script changes all keys of
// a job or a return atomically. Data that Salt's master or minions wrote are read too. The
// durability of changes depends on the server's option appendfsync: with always, no acknowledged
// change is lost. A cluster cannot run such scripts, and supports only minions' returns.
package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/returners"
)

// Name is the returner's name.
const Name = "redis"

// limit is the timeout of one change, dialTime that of connecting.
const (
	limit    = 30 * time.Second
	dialTime = 5 * time.Second
)

const doc = `
    Return data to a redis data store

    CLI Example:

        salt '*' test.ping --return redis
    `

func known() []returners.Setting {
	return []returners.Setting{
		{Name: "host", Default: "salt", Fixed: true}, {Name: "port", Default: int64(6379),
			Fixed: true}, {Name: "password"},
		{Name: "db", Default: "0", Fixed: true}, {Name: "unix_socket_path", Fixed: true},
		{Name: "cluster_mode", Fixed: true},
		{Name: "startup_nodes", Key: "cluster.startup_nodes", Fixed: true},
	}
}

// Plugin returns the returner for a minion.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: Name, New: func(env *loader.Env) (*loader.Module, error) {
		return returners.Module(doc, &minionReturner{from: returners.EnvSource(env),
			keep: keepJobs(env.Opts)}), nil
	}}
}

// keepJobs returns the lifetime of keys; 0 means forever.
func keepJobs(opts *data.Map) time.Duration {
	seconds, err := loader.Int(opts.Value("keep_jobs_seconds"))
	if !opts.Has("keep_jobs_seconds") || err != nil {
		return 24 * time.Hour
	}
	return time.Duration(max(seconds, 0)) * time.Second
}

// minionReturner connects for each return, because the ret_config of each may name another server.
type minionReturner struct {
	from   returners.Source
	keep   time.Duration
	prefix string // of all keys; for tests
}

func (r *minionReturner) Return(ctx context.Context, ret *data.Map) error {
	db, at, err := connect(r.from, ret)
	if err != nil {
		return err
	}
	err = r.put(ctx, db, returners.Passed(ret))
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("redis on %s: %w", at, err)
	}
	return nil
}

func (r *minionReturner) put(ctx context.Context, db redis.UniversalClient, ret *data.Map) error {
	text, err := output.JSON(returners.Decoded(data.Clone(ret)))
	if err != nil {
		return fmt.Errorf("%w: %w", returners.ErrRefused, err)
	}
	jid, minion := data.Str(ret.Value("jid")), data.Str(ret.Value("id"))
	pipe := db.Pipeline()
	pipe.HSet(ctx, r.prefix+"ret:"+jid, minion, text)
	if r.keep > 0 {
		pipe.Expire(ctx, r.prefix+"ret:"+jid, r.keep)
	}
	if last, ok := lastKey(minion, returners.FunText(ret.Value("fun"))); ok {
		pipe.Set(ctx, r.prefix+last, jid, max(r.keep, 0))
	}
	pipe.SAdd(ctx, r.prefix+"minions", minion)
	_, err = pipe.Exec(ctx)
	return err
}

// funForm matches the functions whose last job is recorded: shelf.name, or several separated by
// commas.
var funForm = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_.,-]+$`)

// maxFun is the maximum length of their names.
const maxFun = 255

// lastKey returns Salt's key MINION:FUN for the last job of a function. The minion chooses both
// parts: ok is false for an invalid function, and if the key could be mistaken for one of the
// others.
func lastKey(minion, fun string) (key string, ok bool) {
	head, _, _ := strings.Cut(minion, ":")
	if slices.Contains([]string{"load", "ret", "brine", "minions"}, head) || len(fun) > maxFun ||
		!funForm.MatchString(fun) {
		return "", false
	}
	return minion + ":" + fun, true
}

// Open opens the job cache of a master with these options.
func Open(ctx context.Context, opts *data.Map, o Options) (returners.JobCache, error) {
	return open(ctx, opts, o, "")
}

func open(ctx context.Context, opts *data.Map, o Options, prefix string) (*Cache, error) {
	db, at, err := connect(returners.MapSource(opts), nil)
	if err != nil {
		return nil, err
	}
	single, ok := db.(*redis.Client)
	if !ok {
		return nil, errors.Join(errors.New("redis.cluster_mode: a cluster cannot hold a job cache"),
			db.Close())
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := single.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("redis on %s: %w", at, err), db.Close())
	}
	return &Cache{db: single, at: at, o: o.filled(), keep: keepJobs(opts), prefix: prefix}, nil
}

// connect returns a client that connects on first use, and its address.
func connect(from returners.Source, ret *data.Map) (redis.UniversalClient, string, error) {
	// it bypasses the log, and its messages are also returned as errors
	redis.SetLogger(&logging.VoidLogger{})
	s := from.Read(ret, known(), Name)
	port, err := s.Int("port")
	if err != nil {
		return nil, "", fmt.Errorf("redis.%w", err)
	}
	number, err := s.Int("db")
	if err != nil {
		return nil, "", fmt.Errorf("redis.%w", err)
	}
	if s.Bool("cluster_mode") {
		nodes, err := clusterNodes(s.Value("startup_nodes"))
		if err != nil {
			return nil, "", err
		}
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: nodes,
			Password: s.Text("password"), DialTimeout: dialTime, ReadTimeout: limit,
			WriteTimeout: limit, MaxRetries: -1, ContextTimeoutEnabled: true}), nodes[0], nil
	}
	o := &redis.Options{Network: "tcp", Addr: net.JoinHostPort(s.Text("host"), strconv.Itoa(port)),
		Password: s.Text("password"), DB: number, DialTimeout: dialTime, DialerRetries: 1,
		ReadTimeout: limit, WriteTimeout: limit, MaxRetries: -1, ContextTimeoutEnabled: true,
		PoolSize: 16}
	if path := s.Text("unix_socket_path"); path != "" {
		o.Network, o.Addr = "unix", path
	}
	return redis.NewClient(o), o.Addr, nil
}

func clusterNodes(v any) ([]string, error) {
	list, _ := v.([]any)
	var nodes []string
	for _, n := range list {
		m, _ := n.(*data.Map)
		port, err := loader.Int(m.Value("port"))
		if m.Text("host") == "" || err != nil {
			return nil, fmt.Errorf("redis.cluster.startup_nodes: %s is not a host with a port",
				data.Repr(n))
		}
		nodes = append(nodes, net.JoinHostPort(m.Text("host"), strconv.Itoa(int(port))))
	}
	if len(nodes) == 0 {
		return nil, errors.New("redis.cluster.startup_nodes names no server")
	}
	return nodes, nil
}

// keys holds the keys of one job.
type keys struct{ load, ret, job, returns, order string }

func (c *Cache) keys(id job.ID) keys {
	p, s := c.prefix, string(id)
	return keys{load: p + "load:" + s, ret: p + "ret:" + s, job: p + "brine:job:" + s, returns: p +
		"brine:ret:" + s, order: p + "brine:order:" + s}
}
